package helm

import (
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
)

// Chart is what a Helm chart brings beside the objects of its release.
type Chart struct {
	Release helmrecord.Release
	// Title is the chart's name and version, as in "valkey-1.2.3".
	Title       string
	HookTimeout time.Duration
	// Hooks in the order in which those of one event run.
	Hooks []Hook
	// Record is the release's record, apart from what only the course of an operation tells.
	Record json.RawMessage
	// volatile is the rendering itself, if rendering again would give something else: it has to be
	// stored before anything of it is applied.
	volatile *render.RenderedChart
}

// hookReserve is what the status tells of a run of a hook beside its object's ID, in bytes of JSON.
const hookReserve = 320

// SizeOfHooks is how much a status may have to tell of the hooks of a chart, which may be nil, in bytes of JSON.
func (c *Chart) SizeOfHooks() int {
	if c == nil {
		return 0
	}
	size := 0
	for _, hook := range c.Hooks {
		size += len(hook.Events) * (len(hook.ID()) + hookReserve)
	}
	return size
}

// Hook is an object that is made at certain events of a release's life.
type Hook struct {
	objects.Ref
	object   *unstructured.Unstructured
	path     string
	Events   []string
	policies []string
}

func (h Hook) runsAt(event string) bool { return slices.Contains(h.Events, event) }

// MaxHooks is how many hooks a chart may have: the status tells of each.
const MaxHooks = 100

// Policies of a hook's deletion.
const (
	deleteBefore    = "before-hook-creation"
	deleteSucceeded = "hook-succeeded"
	deleteFailed    = "hook-failed"
)

// isDeleted is whether a hook's object is deleted at a time. Definitions never are: what is of their
// kind would go with them.
func (h Hook) isDeleted(policy string) bool {
	return slices.Contains(h.policies, policy) && h.GroupKind() != objects.DefinitionKind
}

// endsByItself is whether a hook has to be waited for; others are done as soon as they are there.
func (h Hook) endsByItself() bool {
	kind := h.GroupKind()
	return kind == schema.GroupKind{Kind: "Pod"} || kind == schema.GroupKind{Group: "batch", Kind: "Job"}
}

// NewChart takes from a rendered chart what is not an object of its release.
func NewChart(release helmrecord.Release, from *addoncontent.Chart, rendered *render.RenderedChart) *Chart {
	made := &Chart{
		Release: release, Title: from.Name + "-" + from.Version, HookTimeout: from.HookTimeout, Record: rendered.Record,
	}
	if rendered.Volatile {
		made.volatile = rendered
	}
	for _, one := range rendered.Hooks {
		made.Hooks = append(made.Hooks, Hook{
			Ref: objects.RefOf(one.Object), object: one.Object, path: one.Path, Events: one.Events, policies: one.DeletePolicies,
		})
	}
	return made
}
