package helm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	release "helm.sh/helm/v4/pkg/release/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// maxHookMessage keeps what is said of one hook short, in bytes; the CRD allows twice that.
const maxHookMessage = 1024

// hookRunner runs the hooks of one operation, as far as it gets without waiting. What it waits for
// comes back as a watch event; how far it came is in the operation.
type hookRunner struct {
	Target
	chart     *Chart
	status    *releaseStatus
	operation *addonsv1alpha1.HelmOperation
	result    *Result
}

// HookReport is a hook that everything else waits for.
type HookReport struct {
	objects.Ref
	Run addonsv1alpha1.HookRun
}

// String is the form for people.
func (h HookReport) String() string {
	text := fmt.Sprintf("%s hook %s", h.Run.Event, h.Ref)
	switch {
	case h.Run.Message != "":
		return text + " " + h.Run.Message
	case h.Run.Phase == addonsv1alpha1.HookRunning:
		return text + " is running"
	}
	return text + " " + string(h.Run.Phase)
}

// run runs the hooks of an event in their order, and returns whether all of them have succeeded.
func (h *hookRunner) run(ctx context.Context, event release.HookEvent) (bool, error) {
	var ran []Hook
	for _, one := range h.chart.Hooks {
		if !one.runsAt(string(event)) {
			continue
		}
		run, err := h.step(ctx, one, string(event))
		switch {
		case err != nil:
			return false, fmt.Errorf("%s hook %s: %w", event, one.Ref, err)
		case run.Phase == addonsv1alpha1.HookFailed:
			return false, h.failed(ctx, one, run, ran)
		case run.Phase == addonsv1alpha1.HookRunning:
			h.result.Hook = &HookReport{Ref: one.Ref, Run: *run}
			h.result.wake(run.StartedAt.Add(h.chart.HookTimeout))
			return false, nil
		}
		ran = append(ran, one)
	}
	slices.Reverse(ran)
	err := h.clear(ctx, ran, string(event), deleteSucceeded)
	return err == nil, err
}

func (h *hookRunner) find(one Hook, event string) *addonsv1alpha1.HookRun {
	for i := range h.operation.Hooks {
		if run := &h.operation.Hooks[i]; run.Event == event && run.Object == one.ID() {
			return run
		}
	}
	return nil
}

// step starts a hook, or looks what became of it.
func (h *hookRunner) step(ctx context.Context, one Hook, event string) (*addonsv1alpha1.HookRun, error) {
	run := h.find(one, event)
	if run == nil {
		if err := h.intend(ctx, one, event); err != nil {
			return nil, err
		}
		run = h.find(one, event)
	}
	if run.Phase != addonsv1alpha1.HookRunning {
		return run, nil
	}
	// Claimed first, so that the watch keeps what it lists of it.
	if holder, ok := h.Cluster.Tracker.Claim(h.Owner, one.Key()); !ok {
		h.end(run, addonsv1alpha1.HookFailed, "is an object of "+h.OwnerName(ctx, h.Owner, holder)+" too; rename one of them")
		return run, nil
	}
	if err := h.Cluster.Watch(ctx, one.GroupVersionKind); err != nil {
		return nil, err
	}
	if run.UID == "" {
		if err := h.start(ctx, one, run); err != nil {
			return nil, err
		}
	}
	switch {
	case run.Phase != addonsv1alpha1.HookRunning:
	case run.UID != "" && !one.endsByItself():
		h.end(run, addonsv1alpha1.HookSucceeded, "")
	default:
		return run, h.look(ctx, one, run)
	}
	return run, nil
}

// intend writes that a hook is about to be created: if the manager dies in between, the next one knows
// that it may be there.
func (h *hookRunner) intend(ctx context.Context, one Hook, event string) error {
	h.operation.Hooks = append(h.operation.Hooks, addonsv1alpha1.HookRun{
		Event: event, Object: one.ID(), Phase: addonsv1alpha1.HookRunning, StartedAt: metav1.NewMicroTime(h.Clock.Now()),
	})
	if err := h.store(ctx); err != nil {
		return fmt.Errorf("record that it is about to be created: %w", err)
	}
	return nil
}

// store keeps how far the operation has come.
func (h *hookRunner) store(ctx context.Context) error {
	status := h.status.get()
	status.Operation = h.operation.DeepCopy()
	return store(ctx, h.Journal, status)
}

// sight returns what the watch saw of a hook; nil if nothing. Of one that ended before it was claimed, a watch that was
// there already says nothing: it is read.
func (h *hookRunner) sight(ctx context.Context, one Hook, run *addonsv1alpha1.HookRun) (*tracker.Seen, error) {
	seen, _ := h.Cluster.Tracker.Look(one.Key())
	if seen != nil || run.UID == "" || !h.Cluster.Tracker.Kind(one.GroupKind()).Listed {
		return seen, nil
	}
	err := h.Cluster.ReadClaimed(ctx, one.Ref)
	seen, _ = h.Cluster.Tracker.Look(one.Key())
	return seen, err
}

// look finds out whether a hook has ended.
func (h *hookRunner) look(ctx context.Context, one Hook, run *addonsv1alpha1.HookRun) error {
	seen, err := h.sight(ctx, one, run)
	if err != nil {
		return err
	}
	same := seen != nil && seen.UID == types.UID(run.UID)
	switch {
	case !h.Cluster.Tracker.Kind(one.GroupKind()).Listed:
		// The watch has not listed yet: what ended meanwhile is not known. It tells when it has.
	case same && seen.Health.End == tracker.Succeeded:
		h.end(run, addonsv1alpha1.HookSucceeded, "")
	case same && seen.Health.End == tracker.Failed:
		h.end(run, addonsv1alpha1.HookFailed, h.podState(ctx, one, "failed"))
	case run.UID != "" && seen != nil && seen.Gone && h.isGone(ctx, one, run):
		h.end(run, addonsv1alpha1.HookFailed, "was deleted, and nothing was seen of how it ended; if it deletes itself, raise its ttlSecondsAfterFinished")
	case !h.Clock.Now().Before(run.StartedAt.Add(h.chart.HookTimeout)):
		h.end(run, addonsv1alpha1.HookFailed, h.podState(ctx, one, fmt.Sprintf("did not end within %s", h.chart.HookTimeout)))
	}
	return nil
}

// isGone makes sure: a watch that listed just before the hook was created does not know of it.
func (h *hookRunner) isGone(ctx context.Context, one Hook, run *addonsv1alpha1.HookRun) bool {
	object, err := h.Cluster.Get(ctx, one.Ref)
	return apierrors.IsNotFound(err) || err == nil && object.UID != types.UID(run.UID)
}

func (h *hookRunner) end(run *addonsv1alpha1.HookRun, phase addonsv1alpha1.HookPhase, message string) {
	run.Phase, run.Message = phase, truncate.Message(message, maxHookMessage)
	run.CompletedAt = ptr.To(metav1.NewMicroTime(h.Clock.Now()))
}

// failed deletes what is to be deleted after a failure, and reports it.
func (h *hookRunner) failed(ctx context.Context, one Hook, run *addonsv1alpha1.HookRun, ran []Hook) error {
	h.result.Hook = &HookReport{Ref: one.Ref, Run: *run}
	h.result.wake(run.CompletedAt.Add(apply.RetryStalled))
	if err := h.clear(ctx, []Hook{one}, run.Event, deleteFailed); err != nil {
		return err
	}
	return h.clear(ctx, ran, run.Event, deleteSucceeded)
}

// clear deletes the objects of hooks with a policy. A run without a UID has no object any more. How they
// ended is written before: once they are gone, nobody can tell.
func (h *hookRunner) clear(ctx context.Context, hooks []Hook, event, policy string) error {
	hooks = slices.DeleteFunc(slices.Clone(hooks), func(one Hook) bool {
		run := h.find(one, event)
		return !one.isDeleted(policy) || run == nil || run.UID == ""
	})
	if len(hooks) == 0 {
		return nil
	}
	if err := h.store(ctx); err != nil {
		return fmt.Errorf("record how the %s hooks ended: %w", event, err)
	}
	for _, one := range hooks {
		run := h.find(one, event)
		if err := apply.Delete(ctx, h.Cluster, one.Ref, types.UID(run.UID)); err != nil {
			return fmt.Errorf("delete %s hook %s: %w", event, one.Ref, err)
		}
		run.UID = ""
	}
	return nil
}

// podState says of a hook's pods what a person would look for: which container, and why.
func (h *hookRunner) podState(ctx context.Context, one Hook, what string) string {
	states, err := h.Cluster.PodStates(ctx, one.Ref)
	switch {
	case err != nil:
		return what + "; its pods could not be read: " + err.Error()
	case len(states) == 0:
		return what + "; it has no pods"
	}
	return what + "; " + strings.Join(states[:min(len(states), 3)], "; ")
}
