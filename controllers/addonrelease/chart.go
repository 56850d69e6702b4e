package addonrelease

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// chartSet makes what is applied of what a chart rendered to.
func (r *Reconciler) chartSet(ctx context.Context, content addoncontent.Content, rendered *render.RenderedChart, cluster apply.ClusterView, applied apply.Inventory) (rendering, error) {
	release := helmrecord.Release{Namespace: content.Namespace, Name: content.Chart.ReleaseName}
	// What was rendered may have to be stored as it is.
	definitions, plain := copies(rendered.CRDs), copies(rendered.Objects)
	if content.Chart.CRDs == string(addonsv1alpha1.CRDSkip) {
		definitions = nil
	}
	everything := slices.Concat(definitions, plain)
	for _, one := range rendered.Hooks {
		everything = append(everything, one.Object)
	}
	if err := apply.ScopeObjects(ctx, cluster, everything, content.Namespace, applied); err != nil {
		return rendering{}, err
	}
	list := make([]apply.Declaration, 0, len(everything))
	for _, object := range definitions {
		missingOnly := content.Chart.CRDs == string(addonsv1alpha1.CRDCreate)
		list = append(list, apply.Declaration{Unstructured: object, Kept: true, Implied: missingOnly})
	}
	for _, object := range plain {
		release.Mark(object)
		isClaim := object.GroupVersionKind().GroupKind() == objects.ClaimKind
		list = append(list, apply.Declaration{Unstructured: object, Kept: isClaim || helmrecord.IsKept(object)})
	}
	if len(rendered.Hooks) > helm.MaxHooks {
		return rendering{}, tooMany("hooks", len(rendered.Hooks), helm.MaxHooks)
	}
	set, err := apply.Prepare(list, r.Installation, content.NamespaceToCreate())
	if err != nil {
		return rendering{}, err
	}
	return rendering{set: set, chart: helm.NewChart(release, content.Chart, rendered)}, nil
}

func copies(list []*unstructured.Unstructured) []*unstructured.Unstructured {
	copied := make([]*unstructured.Unstructured, 0, len(list))
	for _, object := range list {
		copied = append(copied, object.DeepCopy())
	}
	return copied
}
