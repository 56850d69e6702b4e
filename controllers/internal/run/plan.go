package run

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// plan is what to do for a run R. At most one of its steps is taken in a reconcile, and recorded before the next.
type plan[R metav1alpha1.Run] struct {
	// claim adds the finalizer; release removes it.
	claim, release bool
	// start records that the run begins.
	start bool
	// clusters are to be recorded, before anything is done in them.
	clusters []metav1alpha1.ClusterReference
	// end is the outcome to be recorded; nil for none.
	end *ending
	// record is what the kind adds to the status; nil for nothing.
	record func(R)
	// begin is an action to be recorded; nil for none.
	begin *Beginning
	// action that is under way, as it becomes by what is known, and what is to be done for it in its cluster; nil for none.
	action *metav1alpha1.Action
	step   action.Step
	// beginTask is a task to be recorded; nil for none.
	beginTask *Task
	// task that is under way; nil for none. It is started if nobody does it, and recorded if it has ended.
	task *metav1alpha1.RunTask
	// remove are the actions whose objects are to be removed.
	remove []metav1alpha1.Action
	// finish records that nothing is left to remove.
	finish bool
	// lingers: what the run made stays until then, though the run has ended.
	lingers time.Time
	// awaits says what the run waits for.
	awaits string
	// until is when to look again; zero for whenever something happens.
	until time.Time
}

// ending is how a run ends.
type ending struct {
	outcome metav1alpha1.RunOutcome
	message string
}

// newPlan decides what to do for a run. It is pure.
func newPlan[R metav1alpha1.Run, S any](kind Kind[R, S], o observation[R, S]) plan[R] {
	status := o.Run.GetRunStatus()
	claimed := controllerutil.ContainsFinalizer(o.Run, metav1alpha1.FinalizerRun)
	switch {
	case status.FinishedAt != nil || status.StartedAt == nil && isDeleted(o.Run):
		return plan[R]{release: claimed}
	case !claimed && !isDeleted(o.Run):
		return plan[R]{claim: true}
	case o.waitsFor != "":
		return plan[R]{awaits: o.waitsFor, until: lateAt(o.Run)}
	case status.StartedAt == nil:
		return plan[R]{start: true}
	case status.Outcome != "":
		return planRemoval(kind, o)
	}
	if why := whyCancelled(o); why != "" {
		return plan[R]{end: &ending{metav1alpha1.RunCancelled, why}}
	}
	if len(o.added) > 0 {
		return plan[R]{clusters: slices.Concat(status.Clusters, o.added)}
	}
	for _, a := range status.Actions {
		if a.Outcome == "" {
			return planAction(kind, o, a)
		}
	}
	if current := taskUnderWay(status); current != nil {
		return planTask(o, *current)
	}
	return planNext(kind, o)
}

func isDeleted(run metav1alpha1.Run) bool { return !run.GetDeletionTimestamp().IsZero() }

// lateAt is when a run has to have started; zero for any time.
func lateAt(run metav1alpha1.Run) time.Time {
	if by := run.GetRunSpec().StartBy; by != nil {
		return by.Time
	}
	return time.Time{}
}

// whyCancelled says why a run is to end before its time; empty if it goes on.
func whyCancelled[R metav1alpha1.Run, S any](o observation[R, S]) string {
	switch {
	case isDeleted(o.Run):
		return "it was deleted"
	case o.Run.GetRunSpec().Cancel:
		return "spec.cancel is true"
	case metav1alpha1.IsLate(o.Run, o.Now):
		return "it could not start before spec.startBy: others were under way, or the manager did not run"
	}
	for _, ref := range o.Run.GetRunStatus().Clusters {
		if view := o.clusters[Key(ref)]; view != nil && view.leaving {
			return clusterName(ref) + " is being deleted"
		}
	}
	return ""
}

func planAction[R metav1alpha1.Run, S any](kind Kind[R, S], o observation[R, S], a metav1alpha1.Action) plan[R] {
	decide := func(object *unstructured.Unstructured) action.Verdict { return kind.Decide(o.Run, a, object) }
	next, step, awaited := o.situationOf(a, decide).Next()
	return plan[R]{action: &next, step: step, awaits: a.Name + ": " + awaited, until: a.Deadline.Time}
}

// planTask goes on with a task, which has ended, is under way, or is to be started.
func planTask[R metav1alpha1.Run, S any](o observation[R, S], t metav1alpha1.RunTask) plan[R] {
	p := plan[R]{task: &t, until: t.Deadline.Time, awaits: t.Name + ": under way"}
	if o.progress.Err != nil {
		p.awaits = t.Name + ": " + o.progress.Err.Error()
		p.until = times.Earliest(p.until, o.progress.Again)
	}
	switch {
	case o.progress.Done && o.progress.Err != nil:
		t = endTask(t, metav1alpha1.ActionFailed, o.progress.Err.Error(), o.Now)
	case o.progress.Done:
		t = endTask(t, metav1alpha1.ActionSucceeded, "", o.Now)
	case !o.Now.Before(t.Deadline.Time):
		message := fmt.Sprintf("it did not end within %s", t.Deadline.Sub(t.StartedAt.Time))
		if o.progress.Err != nil {
			message += ": " + o.progress.Err.Error()
		}
		t = endTask(t, metav1alpha1.ActionTimedOut, message, o.Now)
	}
	return p
}

func taskUnderWay(status *metav1alpha1.RunStatus) *metav1alpha1.RunTask {
	for i := range status.Tasks {
		if status.Tasks[i].Outcome == "" {
			return &status.Tasks[i]
		}
	}
	return nil
}

func endTask(t metav1alpha1.RunTask, outcome metav1alpha1.ActionOutcome, message string, now time.Time) metav1alpha1.RunTask {
	at := metav1.NewTime(now).Rfc3339Copy()
	t.Outcome, t.Message, t.EndedAt = outcome, truncate.Message(message, conditions.MaxMessage), &at
	return t
}

// planNext asks the kind, whose mistakes end the run.
func planNext[R metav1alpha1.Run, S any](kind Kind[R, S], o observation[R, S]) plan[R] {
	move := kind.Next(o.View)
	if move.Outcome != "" {
		return plan[R]{end: &ending{move.Outcome, move.Message}}
	}
	if move.Record != nil {
		return plan[R]{record: move.Record}
	}
	if move.Task != nil {
		if o.Task(move.Task.Name) != nil {
			return plan[R]{end: &ending{metav1alpha1.RunFailed, fmt.Sprintf("task %s would begin twice", move.Task.Name)}}
		}
		return plan[R]{beginTask: move.Task}
	}
	if move.Begin == nil {
		return plan[R]{awaits: move.Message, until: move.Until}
	}
	view := o.clusters[move.Begin.Cluster]
	switch {
	case o.Action(move.Begin.Action) != nil:
		return plan[R]{end: &ending{metav1alpha1.RunFailed, fmt.Sprintf("action %s would begin twice", move.Begin.Action)}}
	case view == nil:
		return plan[R]{end: &ending{metav1alpha1.RunFailed, fmt.Sprintf("action %s would work in %s, which is none of the run's clusters", move.Begin.Action, move.Begin.Cluster)}}
	case view.cluster == nil: // Its identity has to be on record.
		awaits := view.Unreachable
		if awaits == "" {
			awaits = fmt.Sprintf("waits for TenantCluster %s", move.Begin.Cluster)
		}
		return plan[R]{awaits: awaits, until: move.Until}
	}
	return plan[R]{begin: move.Begin}
}

// lookAtRemovals is when an object that is on its way is looked at again, though no watch showed that it is gone: a kind may
// not be watchable any more.
const lookAtRemovals = time.Minute

// planRemoval removes what the run made.
func planRemoval[R metav1alpha1.Run, S any](kind Kind[R, S], o observation[R, S]) plan[R] {
	if lingering, lingers := kind.(LingeringKind[R]); lingers && whyCancelled(o) == "" {
		if at := lingering.RemovesAt(o.Run); o.Now.Before(at) {
			return plan[R]{lingers: at, until: at}
		}
	}
	remove := lastMade(o.Run.GetRunStatus().Actions)
	return plan[R]{remove: remove, finish: len(remove) == 0, until: o.Now.Add(lookAtRemovals)}
}

// lastMade are the actions whose objects are removed next: in the reverse of the order in which they were made, those of one
// kind together. What was made later may need what was made before, until it is gone.
func lastMade(actions []metav1alpha1.Action) (last []metav1alpha1.Action) {
	for _, a := range slices.Backward(actions) {
		switch {
		case a.Removed:
		case len(last) > 0 && kindOf(a) != kindOf(last[0]):
			return last
		default:
			last = append(last, a)
		}
	}
	return last
}

// kindOf the object of an action; empty if its name cannot be read.
func kindOf(a metav1alpha1.Action) schema.GroupVersionKind {
	ref, _ := objects.ParseID(a.Object) // Its removal tells of it.
	return ref.GroupVersionKind
}
