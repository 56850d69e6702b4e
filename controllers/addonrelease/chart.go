package addonrelease

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// chart is what a Helm chart brings beside the objects of its release.
type chart struct {
	release helm.Release
	// title is the chart's name and version, as in "valkey-1.2.3".
	title       string
	hookTimeout time.Duration
	// hooks in the order in which those of one event run.
	hooks []hook
	// record is the release's record, apart from what only the course of an operation tells.
	record json.RawMessage
	// volatile is the rendering itself, if rendering again would give something else: it has to be
	// stored before anything of it is applied.
	volatile *render.RenderedChart
}

// hook is an object that is made at certain events of a release's life.
type hook struct {
	objects.Ref
	object   *unstructured.Unstructured
	path     string
	events   []string
	policies []string
}

func (h hook) runsAt(event string) bool { return slices.Contains(h.events, event) }

// maxHooks is how many hooks a chart may have: the status tells of each.
const maxHooks = 100

// Policies of a hook's deletion.
const (
	deleteBefore    = "before-hook-creation"
	deleteSucceeded = "hook-succeeded"
	deleteFailed    = "hook-failed"
)

// isDeleted is whether a hook's object is deleted at a time. Definitions never are: what is of their
// kind would go with them.
func (h hook) isDeleted(policy string) bool {
	return slices.Contains(h.policies, policy) && h.GroupKind() != objects.DefinitionKind
}

// endsByItself is whether a hook has to be waited for; others are done as soon as they are there.
func (h hook) endsByItself() bool {
	kind := h.GroupKind()
	return kind == schema.GroupKind{Kind: "Pod"} || kind == schema.GroupKind{Group: "batch", Kind: "Job"}
}

// chartSet makes what is applied of what a chart rendered to.
func (r *Reconciler) chartSet(ctx context.Context, content addoncontent.Content, rendered *render.RenderedChart, cluster apply.ClusterView, applied apply.Inventory) (rendering, error) {
	release := helm.Release{Namespace: content.Namespace, Name: content.Chart.ReleaseName}
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
		list = append(list, apply.Declaration{Unstructured: object, Kept: isClaim || helm.IsKept(object)})
	}
	if len(rendered.Hooks) > maxHooks {
		return rendering{}, &tooManyError{what: "hooks", count: len(rendered.Hooks), most: maxHooks}
	}
	set, err := apply.Prepare(list, r.Installation, namespaceOf(content))
	if err != nil {
		return rendering{}, err
	}
	return rendering{set: set, chart: chartOf(release, content.Chart, rendered)}, nil
}

func copies(list []*unstructured.Unstructured) []*unstructured.Unstructured {
	copied := make([]*unstructured.Unstructured, 0, len(list))
	for _, object := range list {
		copied = append(copied, object.DeepCopy())
	}
	return copied
}

func chartOf(release helm.Release, from *addoncontent.Chart, rendered *render.RenderedChart) *chart {
	made := &chart{
		release: release, title: from.Name + "-" + from.Version, hookTimeout: from.HookTimeout, record: rendered.Record,
	}
	if rendered.Volatile {
		made.volatile = rendered
	}
	for _, one := range rendered.Hooks {
		made.hooks = append(made.hooks, hook{
			Ref: objects.RefOf(one.Object), object: one.Object, path: one.Path, events: one.Events, policies: one.DeletePolicies,
		})
	}
	return made
}
