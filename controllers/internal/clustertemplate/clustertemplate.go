// Package clustertemplate writes what is known of a cluster into short texts, such as the names in a certificate. It has the
// syntax of Go templates and nothing of their power: a text says where a name, a label or the version goes, so it needs no
// worker process as manifests do. It is pure.
package clustertemplate

import (
	"errors"
	"fmt"
	"strings"
	"text/template/parse"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// MaxLength is how long a text may become, in bytes.
const MaxLength = 1024

// Cluster is what a text may say.
type Cluster struct {
	metav1alpha1.ClusterReference
	metav1alpha1.ClusterParameters
}

// usable is what an error offers instead.
const usable = "use {{ .Cluster.Name }}, {{ .Cluster.Namespace }}, {{ .Cluster.Version }} or {{ .Cluster.Labels.key }}, with {{ index .Cluster.Labels \"key\" }} for keys with dots or slashes"

// Check returns an error if a text cannot be expanded for any cluster, because of how it is written.
func Check(text string) error {
	_, err := parseText(text)
	return err
}

// Uses is whether a text says something of its cluster. One that cannot be read does not.
func Uses(text string) bool { return usesAny(text, func(field) bool { return true }) }

// TellsCustomersApart is whether a text says something of its cluster that its customer cannot choose: the namespace, or a label
// that is the provider's.
func TellsCustomersApart(text string) bool {
	return usesAny(text, func(one field) bool {
		return one.name == "Namespace" || strings.HasPrefix(one.label, metav1alpha1.ProviderLabelPrefix)
	})
}

func usesAny(text string, is func(field) bool) bool {
	nodes, err := parseText(text)
	if err != nil {
		return false
	}
	for _, node := range nodes {
		action, ok := node.(*parse.ActionNode)
		if !ok {
			continue
		}
		if named, err := fieldOf(action); err == nil && is(named) {
			return true
		}
	}
	return false
}

// Expand writes what is known of a cluster into a text. It fails for a label that the cluster does not have, and for more than
// MaxLength bytes.
func Expand(text string, cluster Cluster) (string, error) {
	nodes, err := parseText(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, node := range nodes {
		switch node := node.(type) {
		case *parse.TextNode:
			out.Write(node.Text)
		case *parse.ActionNode:
			value, err := valueOf(node, cluster)
			if err != nil {
				return "", err
			}
			out.WriteString(value)
		}
		if out.Len() > MaxLength {
			return "", fmt.Errorf("%.40q… becomes longer than %d bytes", text, MaxLength)
		}
	}
	return out.String(), nil
}

// parseText reads a text. What it returns is texts and actions that name something of the cluster.
func parseText(text string) ([]parse.Node, error) {
	trees, err := parse.Parse("", text, "", "", map[string]any{"index": true})
	if err != nil {
		return nil, fmt.Errorf("%q cannot be read: %w; %s", text, errors.New(strings.TrimPrefix(err.Error(), "template: :")), usable)
	}
	tree := trees[""]
	if tree == nil || tree.Root == nil {
		return nil, nil
	}
	for _, node := range tree.Root.Nodes {
		switch node := node.(type) {
		case *parse.TextNode:
		case *parse.ActionNode:
			if _, err := fieldOf(node); err != nil {
				return nil, err
			}
		default:
			return nil, unusable(node)
		}
	}
	return tree.Root.Nodes, nil
}

func unusable(node parse.Node) error { return fmt.Errorf("%s is not possible here: %s", node, usable) }

// field is what an action names.
type field struct {
	name string
	// label is the key where name is Labels.
	label string
}

// fieldOf reads an action.
func fieldOf(action *parse.ActionNode) (field, error) {
	if len(action.Pipe.Cmds) != 1 || len(action.Pipe.Decl) > 0 {
		return field{}, unusable(action)
	}
	arguments := action.Pipe.Cmds[0].Args
	switch first := arguments[0].(type) {
	case *parse.FieldNode:
		if found, ok := ofCluster(first.Ident); ok && len(arguments) == 1 && (found.name != "Labels" || found.label != "") {
			return found, nil
		}
	case *parse.IdentifierNode:
		if len(arguments) != 3 {
			break
		}
		labels, isField := arguments[1].(*parse.FieldNode)
		key, isString := arguments[2].(*parse.StringNode)
		if !isField || !isString {
			break
		}
		if found, ok := ofCluster(labels.Ident); ok && found == (field{name: "Labels"}) {
			return field{name: "Labels", label: key.Text}, nil
		}
	}
	return field{}, unusable(action)
}

// ofCluster reads a chain of fields such as .Cluster.Labels.tier.
func ofCluster(chain []string) (field, bool) {
	switch {
	case len(chain) < 2 || chain[0] != "Cluster":
	case len(chain) == 2 && (chain[1] == "Name" || chain[1] == "Namespace" || chain[1] == "Version" || chain[1] == "Labels"):
		return field{name: chain[1]}, true
	case len(chain) == 3 && chain[1] == "Labels":
		return field{name: chain[1], label: chain[2]}, true
	}
	return field{}, false
}

// valueOf is what a cluster has in the place of an action.
func valueOf(action *parse.ActionNode, cluster Cluster) (string, error) {
	named, err := fieldOf(action)
	if err != nil {
		return "", err
	}
	switch named.name {
	case "Name":
		return cluster.Name, nil
	case "Namespace":
		return cluster.Namespace, nil
	case "Version":
		return cluster.Version, nil
	}
	value, ok := cluster.Labels[named.label]
	if !ok {
		return "", fmt.Errorf("TenantCluster %s/%s has no label %s, which %s asks for: set it, or leave it out", cluster.Namespace, cluster.Name, named.label, action)
	}
	return value, nil
}
