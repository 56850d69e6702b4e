package certificatedelivery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// maxNamespaces is how many namespaces a selector selects at most: as many as a watch keeps.
const maxNamespaces = 500

var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

// selectorOf is the text of a placement's selector, which the bundle has checked.
func selectorOf(place certificatesv1alpha1.Placement) string {
	return metav1.FormatLabelSelector(place.NamespaceSelector)
}

// selectorsOf are the selectors in a revision, in order, each once.
func selectorsOf(content certificatecontent.Content) []string {
	var texts []string
	add := func(place certificatesv1alpha1.Placement) {
		if place.NamespaceSelector != nil {
			texts = append(texts, selectorOf(place))
		}
	}
	for _, one := range content.Targets {
		add(one.Placement)
	}
	if content.Trust != nil {
		for _, one := range content.Trust.Targets {
			add(one.Placement)
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// observeNamespaces looks at what selectors select. Those that are not known yet are waited for.
func (r *Reconciler) observeNamespaces(ctx context.Context, o *observation, cluster *fleet.Cluster, selectors []string) (map[string][]string, error) {
	owner := r.Room.Owner(o.Target)
	found := map[string][]string{}
	for _, text := range selectors {
		// What an empty selector selects is everything.
		selection := fleet.Selection{Kind: namespaceKind, Selector: plain(text), Limit: maxNamespaces, Omit: "spec"}
		shown, err := cluster.Observe(ctx, owner, selection)
		switch {
		case err != nil:
			return nil, err
		case shown.Unknown != "":
			return nil, &target.Verdict{Reason: certificatesv1alpha1.ReasonNamespacesUnavailable, Message: "the namespaces of the cluster cannot be watched: " + shown.Unknown}
		case shown.Pending():
			return nil, &target.Verdict{Reason: metav1alpha1.ReasonWaiting, Message: "waiting for the namespaces of the cluster"}
		case shown.Incomplete:
			return nil, refused(certificatesv1alpha1.ReasonTooManyNamespaces, "%q selects more than %d namespaces of the cluster: select fewer, or name them", text, maxNamespaces)
		}
		found[text] = []string{}
		for _, namespace := range shown.Objects {
			if namespace.GetDeletionTimestamp() == nil {
				found[text] = append(found[text], namespace.GetName())
			}
		}
	}
	return found, nil
}

// plain is a selector in the syntax of kubectl --selector, from the form that metav1.FormatLabelSelector gives.
func plain(text string) string {
	if text == "<none>" {
		return ""
	}
	return text
}

// declareNamespaces observes what the selectors of a revision select, and makes it part of what the objects are made from.
func (r *Reconciler) declareNamespaces(ctx context.Context, o *observation, cluster *fleet.Cluster, content certificatecontent.Content) (map[string][]string, error) {
	selectors := selectorsOf(content)
	found, err := r.observeNamespaces(ctx, o, cluster, selectors)
	if err != nil {
		return nil, err
	}
	// Those of the revision before end here, and not while a reconcile looks at them: a watch that has just begun would never
	// come to show anything.
	cluster.RetainObservations(r.Room.Owner(o.Target), func(selection fleet.Selection) bool {
		return slices.ContainsFunc(selectors, func(text string) bool { return plain(text) == selection.Selector })
	})
	o.Extra.namespaces = found
	o.Inputs = withNamespaces(o.Extra.inputs, hashOf(found))
	return found, nil
}

// hashOf tells one selection of namespaces from another; empty where there are no selectors.
func hashOf(namespaces map[string][]string) string {
	if len(namespaces) == 0 {
		return ""
	}
	digest := sha256.New()
	for _, text := range slices.Sorted(maps.Keys(namespaces)) {
		fmt.Fprintln(digest, text, namespaces[text])
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}

// withNamespaces is the hash of everything that the objects are made from.
func withNamespaces(inputs, namespaces string) string {
	if namespaces == "" {
		return inputs
	}
	return inputs + "-" + namespaces
}
