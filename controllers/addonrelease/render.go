package addonrelease

import (
	"context"

	"github.com/maypok86/otter/v2"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// How much the caches hold at most, in bytes of content. What does not fit is read or rendered anew
// whenever it is needed.
const (
	maxRevisions = 32 << 20
	maxSets      = 64 << 20
)

// caches hold what can be had again. Safe for concurrent use. The targets of a rollout, which all ask for one revision, share
// one read of it.
type caches struct {
	revisions revision.Cache[addoncontent.Content]
	sets      *otter.Cache[setKey, rendering]
}

func newCaches() caches {
	return caches{
		revisions: revision.NewCache[addoncontent.Content](maxRevisions, 0),
		sets: otter.Must(&otter.Options[setKey, rendering]{
			MaximumWeight: maxSets, Weigher: func(_ setKey, value rendering) uint32 { return uint32(value.size()) },
		}),
	}
}

// rendering is what a revision gives in one cluster.
type rendering struct {
	set []apply.Object
	// chart is nil for manifests.
	chart *helm.Chart
}

// setKey tells apart what the same inputs give in different clusters: kinds and their scope.
type setKey struct {
	release   types.NamespacedName
	inputs    string
	clusterID types.UID
}

// rendered returns what a release's revision gives in its cluster.
func (r *Reconciler) rendered(ctx context.Context, o *observation, content addoncontent.Content, cluster *fleet.Cluster) (rendering, error) {
	key := setKey{release: client.ObjectKeyFromObject(o.Target), inputs: o.Inputs, clusterID: cluster.Identity()}
	return r.caches.sets.Get(ctx, key, otter.LoaderFunc[setKey, rendering](func(ctx context.Context, _ setKey) (rendering, error) {
		return r.renderContent(ctx, o, content, cluster)
	}))
}

func (r *Reconciler) renderContent(ctx context.Context, o *observation, content addoncontent.Content, cluster *fleet.Cluster) (rendering, error) {
	if content.Chart != nil {
		rendered, err := r.renderChart(ctx, o, content, cluster)
		if err != nil {
			return rendering{}, err
		}
		return r.chartSet(ctx, content, rendered, cluster, o.Inventory)
	}
	list, err := r.Renderer.Render(ctx, content.Request(parametersOf(o.Target)))
	if err != nil {
		return rendering{}, err
	}
	if err := apply.ScopeObjects(ctx, cluster, list, content.Namespace, o.Inventory); err != nil {
		return rendering{}, err
	}
	set, err := apply.Prepare(apply.Declare(list), r.Installation, content.NamespaceToCreate())
	return rendering{set: set}, err
}

// parametersOf is what templates may know of a release's cluster.
func parametersOf(release *addonsv1alpha1.AddonRelease) render.Cluster {
	return render.Cluster{
		Name: release.Spec.ClusterRef.Name, Namespace: release.Spec.ClusterRef.Namespace,
		Labels: release.Spec.Cluster.Labels, Version: release.Spec.Cluster.Version,
	}
}

// renderings of a release that cannot be made again.
func (r *Reconciler) renderings(release *addonsv1alpha1.AddonRelease) helm.Renderings {
	owner := revision.Owner{APIVersion: addonsv1alpha1.GroupVersion.String(), Kind: r.Name(), Object: release}
	return helm.Renderings{Client: r.Room.Client, APIReader: r.Room.APIReader, Owner: owner}
}

func (r *Reconciler) content(ctx context.Context, key types.NamespacedName) (addoncontent.Content, error) {
	return r.caches.revisions.Read(ctx, r.Room.APIReader, key)
}

// size in bytes, with what an object costs beside its body.
func (r rendering) size() int {
	const overhead = 256
	total := 0
	for _, d := range r.set {
		total += len(d.Body) + overhead
	}
	if r.chart == nil {
		return total
	}
	// A hook is kept as an object, which takes some times its text.
	return total + len(r.chart.Record) + len(r.chart.Hooks)*8*overhead
}
