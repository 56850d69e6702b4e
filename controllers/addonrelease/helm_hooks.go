package addonrelease

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	release "helm.sh/helm/v4/pkg/release/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/brief"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

// annotationOperation marks a hook's object with the run that made it.
const annotationOperation = "daytwo.dev/operation"

// hookRunner runs the hooks of one operation, as far as it gets without waiting. What it waits for
// comes back as a watch event; how far it came is in the operation.
type hookRunner struct {
	*Reconciler
	o         *observed
	operation *addonsv1alpha1.HelmOperation
	cluster   *fleet.Cluster
	done      *outcome
}

// run runs the hooks of an event in their order, and returns whether all of them have succeeded.
func (h *hookRunner) run(ctx context.Context, event release.HookEvent) bool {
	var ran []hook
	for _, one := range h.o.chart.hooks {
		if !one.runsAt(string(event)) {
			continue
		}
		run, err := h.step(ctx, one, string(event))
		switch {
		case err != nil:
			h.done.err = fmt.Errorf("%s hook %s: %w", event, one.Ref, err)
			return false
		case run.Phase == addonsv1alpha1.HookFailed:
			h.failed(ctx, one, run, ran)
			return false
		case run.Phase == addonsv1alpha1.HookRunning:
			h.wait(one, run)
			return false
		}
		ran = append(ran, one)
	}
	slices.Reverse(ran)
	h.done.err = h.clear(ctx, ran, string(event), deleteSucceeded)
	return h.done.err == nil
}

// wait says what is waited for, and until when at most.
func (h *hookRunner) wait(one hook, run *addonsv1alpha1.HookRun) {
	h.done.hook = &hookReport{hook: one, run: *run}
	h.done.wake(run.StartedAt.Add(h.o.chart.hookTimeout))
}

func (h *hookRunner) find(one hook, event string) *addonsv1alpha1.HookRun {
	for i := range h.operation.Hooks {
		if run := &h.operation.Hooks[i]; run.Event == event && run.Object == one.ID() {
			return run
		}
	}
	return nil
}

// step starts a hook, or looks what became of it.
func (h *hookRunner) step(ctx context.Context, one hook, event string) (*addonsv1alpha1.HookRun, error) {
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
	if holder, ok := h.cluster.Tracker.Claim(ownerOf(h.o.release), one.Key()); !ok {
		h.end(run, addonsv1alpha1.HookFailed, "is an object of "+h.holderName(ctx, holder)+" too; rename one of them")
		return run, nil
	}
	if err := h.cluster.Watch(ctx, one.GroupVersionKind); err != nil {
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

// start creates a hook's object, once what an earlier run left there is gone. After a crash the object
// of this run may be there already. What is there may be deleted, by the UID that it is read with, so the cluster is
// confirmed first.
func (h *hookRunner) start(ctx context.Context, one hook, run *addonsv1alpha1.HookRun) error {
	if err := h.cluster.Confirm(ctx); err != nil {
		return err
	}
	there, err := h.cluster.Get(ctx, one.Ref)
	switch {
	case apierrors.IsNotFound(err):
		return h.create(ctx, one, run)
	case err != nil:
		return err
	case there.Annotations[annotationOperation] == h.mark(run):
		run.UID = string(there.UID)
		return nil
	case !one.isDeleted(deleteBefore):
		h.end(run, addonsv1alpha1.HookFailed, "is there already, from an earlier run or by somebody else; delete it, or add before-hook-creation to its helm.sh/hook-delete-policy")
		return nil
	}
	if err := deleteHook(ctx, h.cluster, one.Ref, there.UID); err != nil {
		return err
	}
	if _, err = h.cluster.Get(ctx, one.Ref); apierrors.IsNotFound(err) {
		return h.create(ctx, one, run)
	}
	run.Message = "waits until the one of an earlier run is gone"
	h.done.recheck = true
	return err
}

// mark tells a run's object from those of other runs, also of the same operation.
func (h *hookRunner) mark(run *addonsv1alpha1.HookRun) string {
	return h.operation.ID + "." + strconv.FormatInt(run.StartedAt.UnixMicro(), 10)
}

// intend writes that a hook is about to be created: if the manager dies in between, the next one knows
// that it may be there.
func (h *hookRunner) intend(ctx context.Context, one hook, event string) error {
	h.operation.Hooks = append(h.operation.Hooks, addonsv1alpha1.HookRun{
		Event: event, Object: one.ID(), Phase: addonsv1alpha1.HookRunning, StartedAt: metav1.NewMicroTime(h.now()),
	})
	h.o.helmStatus().Operation = h.operation.DeepCopy()
	h.o.release.Status.ClusterID = string(h.o.clusterID)
	if err := h.record(ctx, h.o); err != nil {
		return fmt.Errorf("record that it is about to be created: %w", err)
	}
	return nil
}

func (h *hookRunner) now() time.Time { return h.Clock.Now() }

// create makes a hook's object.
func (h *hookRunner) create(ctx context.Context, one hook, run *addonsv1alpha1.HookRun) error {
	body, err := h.body(one, run)
	if err != nil {
		return err
	}
	answer, err := h.cluster.Apply(ctx, one.Ref, "", body, true)
	if err != nil && isFinal(err) {
		h.end(run, addonsv1alpha1.HookFailed, explain(one.Ref, err))
		return nil
	}
	if err != nil {
		return err
	}
	run.UID, run.Message = string(answer.UID), ""
	return nil
}

func (h *hookRunner) body(one hook, run *addonsv1alpha1.HookRun) ([]byte, error) {
	object := one.object.DeepCopy()
	setIn(object, object.GetLabels(), metav1alpha1.LabelManagedBy, h.Installation, (*unstructured.Unstructured).SetLabels)
	setIn(object, object.GetAnnotations(), annotationOperation, h.mark(run), (*unstructured.Unstructured).SetAnnotations)
	return json.Marshal(object)
}

func setIn(object *unstructured.Unstructured, in map[string]string, key, value string, set func(*unstructured.Unstructured, map[string]string)) {
	if in == nil {
		in = map[string]string{}
	}
	in[key] = value
	set(object, in)
}

// sight returns what the watch saw of a hook; nil if nothing. Of one that ended before it was claimed, a watch that was
// there already says nothing: it is read.
func (h *hookRunner) sight(ctx context.Context, one hook, run *addonsv1alpha1.HookRun) (*fleet.Seen, error) {
	seen, _ := h.cluster.Tracker.Look(one.Key())
	if seen != nil || run.UID == "" || !h.cluster.Tracker.Kind(one.GroupKind()).Listed {
		return seen, nil
	}
	err := h.cluster.Observe(ctx, one.Ref)
	seen, _ = h.cluster.Tracker.Look(one.Key())
	return seen, err
}

// look finds out whether a hook has ended.
func (h *hookRunner) look(ctx context.Context, one hook, run *addonsv1alpha1.HookRun) error {
	seen, err := h.sight(ctx, one, run)
	if err != nil {
		return err
	}
	same := seen != nil && seen.UID == types.UID(run.UID)
	switch {
	case !h.cluster.Tracker.Kind(one.GroupKind()).Listed:
		// The watch has not listed yet: what ended meanwhile is not known. It tells when it has.
	case same && seen.Health.End == fleet.Succeeded:
		h.end(run, addonsv1alpha1.HookSucceeded, "")
	case same && seen.Health.End == fleet.Failed:
		h.end(run, addonsv1alpha1.HookFailed, h.podState(ctx, one, "failed"))
	case run.UID != "" && seen != nil && seen.Gone && h.isGone(ctx, one, run):
		h.end(run, addonsv1alpha1.HookFailed, "was deleted, and nothing was seen of how it ended; if it deletes itself, raise its ttlSecondsAfterFinished")
	case !h.now().Before(run.StartedAt.Add(h.o.chart.hookTimeout)):
		h.end(run, addonsv1alpha1.HookFailed, h.podState(ctx, one, fmt.Sprintf("did not end within %s", h.o.chart.hookTimeout)))
	}
	return nil
}

// isGone makes sure: a watch that listed just before the hook was created does not know of it.
func (h *hookRunner) isGone(ctx context.Context, one hook, run *addonsv1alpha1.HookRun) bool {
	object, err := h.cluster.Get(ctx, one.Ref)
	return apierrors.IsNotFound(err) || err == nil && object.UID != types.UID(run.UID)
}

func (h *hookRunner) end(run *addonsv1alpha1.HookRun, phase addonsv1alpha1.HookPhase, message string) {
	run.Phase, run.Message = phase, brief.Message(message, maxMessage)
	run.CompletedAt = ptr.To(metav1.NewMicroTime(h.now()))
}

// failed deletes what is to be deleted after a failure, and reports it.
func (h *hookRunner) failed(ctx context.Context, one hook, run *addonsv1alpha1.HookRun, ran []hook) {
	h.done.hook = &hookReport{hook: one, run: *run}
	h.done.wake(run.CompletedAt.Add(retryStalled))
	h.done.err = h.clear(ctx, []hook{one}, run.Event, deleteFailed)
	if h.done.err == nil {
		h.done.err = h.clear(ctx, ran, run.Event, deleteSucceeded)
	}
}

// clear deletes the objects of hooks with a policy. A run without a UID has no object any more. How they
// ended is written before: once they are gone, nobody can tell.
func (h *hookRunner) clear(ctx context.Context, hooks []hook, event, policy string) error {
	hooks = slices.DeleteFunc(slices.Clone(hooks), func(one hook) bool {
		run := h.find(one, event)
		return !one.isDeleted(policy) || run == nil || run.UID == ""
	})
	if len(hooks) == 0 {
		return nil
	}
	h.o.helmStatus().Operation = h.operation.DeepCopy()
	if err := h.record(ctx, h.o); err != nil {
		return fmt.Errorf("record how the %s hooks ended: %w", event, err)
	}
	for _, one := range hooks {
		run := h.find(one, event)
		if err := deleteHook(ctx, h.cluster, one.Ref, types.UID(run.UID)); err != nil {
			return fmt.Errorf("delete %s hook %s: %w", event, one.Ref, err)
		}
		run.UID = ""
	}
	return nil
}
