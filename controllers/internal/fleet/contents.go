package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Occupant is an object that stands in the way of removing a namespace or a kind. The zero value is
// nobody.
type Occupant struct {
	Kind, Namespace, Name string
	// Passing: it is being deleted, or goes with its owner; it will be gone without anybody's doing.
	Passing bool
}

// String is the form for people, as in "Pod cache/web-0".
func (o Occupant) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// ContentOf returns what stands in the way of removing a namespace or a definition; nobody for objects of
// other kinds.
func (c *Cluster) ContentOf(ctx context.Context, ref objects.Ref) (Occupant, error) {
	switch ref.GroupKind() {
	case objects.NamespaceKind:
		return c.OccupantOf(ctx, ref.Name)
	case objects.DefinitionKind:
		return c.InstanceOf(ctx, ref.Name)
	}
	return Occupant{}, nil
}

// OccupantOf returns an object in a namespace, one that stays before one that is passing. What every
// namespace has does not count, nor do events and the like, which nobody keeps. While an API group does not say
// what it serves, a namespace without an occupant may still hold its objects: that is an *UndiscoveredError.
func (c *Cluster) OccupantOf(ctx context.Context, namespace string) (Occupant, error) {
	found, err := c.discover()
	if err != nil {
		return Occupant{}, err
	}
	var passing Occupant
	for _, list := range found.lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return Occupant{}, err
		}
		for _, resource := range list.APIResources {
			if !resource.Namespaced || !slices.Contains(resource.Verbs, "list") || fleeting(version.Group, resource.Kind) {
				continue
			}
			occupant, err := c.occupant(ctx, version.WithResource(resource.Name), resource.Kind, namespace)
			if err != nil {
				return Occupant{}, err
			}
			if occupant.Name != "" && !occupant.Passing {
				return occupant, nil
			}
			if occupant.Name != "" {
				passing = occupant
			}
		}
	}
	if passing.Name != "" {
		return passing, nil
	}
	return Occupant{}, found.failed.any()
}

// InstanceOf returns an object of the kind that a CustomResourceDefinition defines, given the
// definition's name, <plural>.<group>. Its group must say what it serves; otherwise that is an *UndiscoveredError.
func (c *Cluster) InstanceOf(ctx context.Context, definition string) (Occupant, error) {
	plural, group, _ := strings.Cut(definition, ".")
	found, err := c.discover()
	if err != nil {
		return Occupant{}, err
	}
	for _, list := range found.lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return Occupant{}, err
		}
		for _, resource := range list.APIResources {
			if version.Group == group && resource.Name == plural {
				return c.occupant(ctx, version.WithResource(plural), resource.Kind, metav1.NamespaceAll)
			}
		}
	}
	return Occupant{}, found.failed.in(group)
}

func (c *Cluster) occupant(ctx context.Context, resource schema.GroupVersionResource, kind, namespace string) (Occupant, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	list, err := c.metadata.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: pageSize})
	if apierrors.IsMethodNotSupported(err) || apierrors.IsNotFound(err) && c.servesNoMore(ctx, resource) {
		return Occupant{}, nil
	}
	if err != nil {
		return Occupant{}, fmt.Errorf("list %s: %w", resource.GroupResource(), err)
	}
	var passing Occupant
	for i := range list.Items {
		item := &list.Items[i]
		if everywhere(kind, item.Name) {
			continue
		}
		found := Occupant{
			Kind: kind, Namespace: item.Namespace, Name: item.Name,
			Passing: item.DeletionTimestamp != nil || len(item.OwnerReferences) > 0,
		}
		if !found.Passing {
			return found, nil
		}
		passing = found
	}
	return passing, nil
}

// servesNoMore is whether a kind that was just discovered is not served any more, as when its definition goes.
func (c *Cluster) servesNoMore(ctx context.Context, resource schema.GroupVersionResource) bool {
	list, err := c.ServerResources(ctx, resource.GroupVersion())
	return apierrors.IsNotFound(err) || err == nil && !slices.ContainsFunc(list.APIResources, func(one metav1.APIResource) bool {
		return one.Name == resource.Resource
	})
}

// fleeting kinds come and go by themselves, or are only views of others.
func fleeting(group, kind string) bool {
	switch kind {
	case "Event", "Endpoints", "EndpointSlice", "Lease", "PodMetrics":
		return true
	}
	return group == "metrics.k8s.io"
}

// everywhere are the objects that Kubernetes puts into every namespace.
func everywhere(kind, name string) bool {
	return kind == "ConfigMap" && name == "kube-root-ca.crt" || kind == "ServiceAccount" && name == "default"
}
