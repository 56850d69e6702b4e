package preview

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// maxAsked is for how many kinds a cluster is asked at most, and maxTold how many are told.
const (
	maxAsked = 32
	maxTold  = 3
)

// rendered is what an add-on declares in a cluster.
type rendered struct {
	cluster types.NamespacedName
	objects []*unstructured.Unstructured
}

// unserved warns of kinds that a cluster does not serve, and that the add-on does not define itself; empty for none, and where that
// is not known. It refuses nothing: another add-on may bring them.
func (p *Previewer) unserved(ctx context.Context, addon *addonsv1alpha1.SaaSAddon, content rendered) string {
	manifests := addon.Spec.Source.Manifests
	if p.Serves == nil || manifests == nil || len(manifests.ConfigMapRefs) > 0 { // Those may define it.
		return ""
	}
	var missing []string
	for _, kind := range kindsOf(content.objects) {
		served, err := p.Serves(ctx, content.cluster, kind)
		if err != nil {
			return ""
		}
		if !served {
			missing = append(missing, kind.Kind+" of "+kind.GroupVersion().String())
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("TenantCluster %s does not serve %s: correct apiVersion and kind, or install what defines them there first",
		content.cluster.Name, truncate.Names(missing, maxTold))
}

// kindsOf are the first kinds of the objects in alphabetical order, without those that the objects themselves define.
func kindsOf(declared []*unstructured.Unstructured) []schema.GroupVersionKind {
	defined := objects.DefinedKinds(declared)
	var kinds []schema.GroupVersionKind
	for _, object := range declared {
		kind := object.GroupVersionKind()
		if _, own := defined[kind.GroupKind()]; !own {
			kinds = append(kinds, kind)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	kinds = slices.Compact(kinds)
	return kinds[:min(len(kinds), maxAsked)]
}
