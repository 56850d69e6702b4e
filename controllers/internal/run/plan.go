package run

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
)

// plan is what to do for a run. At most one of its steps is taken in a reconcile, and recorded before the next.
type plan struct {
	// claim adds the finalizer; release removes it.
	claim, release bool
	// start records that the run begins.
	start bool
	// clusters are to be recorded, before anything is done in them.
	clusters []metav1alpha1.ClusterReference
	// end is the outcome to be recorded; nil for none.
	end *ending
	// begin is an action to be recorded; nil for none.
	begin *Beginning
	// action that is under way, as it becomes by what is known, and what is to be done for it in its cluster; nil for none.
	action *metav1alpha1.Action
	step   action.Step
	// remove are the actions whose objects are to be removed.
	remove []metav1alpha1.Action
	// finish records that nothing is left to remove.
	finish bool
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
func newPlan[R metav1alpha1.Run, S any](kind Kind[R, S], o observation[R]) plan {
	status := o.Run.GetRunStatus()
	claimed := controllerutil.ContainsFinalizer(o.Run, metav1alpha1.FinalizerRun)
	switch {
	case status.FinishedAt != nil || status.StartedAt == nil && isDeleted(o.Run):
		return plan{release: claimed}
	case !claimed && !isDeleted(o.Run):
		return plan{claim: true}
	case status.StartedAt == nil:
		return plan{start: true}
	case status.Outcome != "":
		return planRemoval(o)
	}
	if why := whyCancelled(o); why != "" {
		return plan{end: &ending{metav1alpha1.RunCancelled, why}}
	}
	if len(o.added) > 0 {
		return plan{clusters: slices.Concat(status.Clusters, o.added)}
	}
	for _, a := range status.Actions {
		if a.Outcome == "" {
			return planAction(kind, o, a)
		}
	}
	return planNext(kind, o)
}

func isDeleted(run metav1alpha1.Run) bool { return !run.GetDeletionTimestamp().IsZero() }

// whyCancelled says why a run is to end before its time; empty if it goes on.
func whyCancelled[R metav1alpha1.Run](o observation[R]) string {
	switch {
	case isDeleted(o.Run):
		return "it was deleted"
	case o.Run.GetRunSpec().Cancel:
		return "spec.cancel is true"
	}
	for _, ref := range o.Run.GetRunStatus().Clusters {
		if view := o.clusters[Key(ref)]; view != nil && view.leaving {
			return clusterName(ref) + " is being deleted"
		}
	}
	return ""
}

func planAction[R metav1alpha1.Run, S any](kind Kind[R, S], o observation[R], a metav1alpha1.Action) plan {
	decide := func(object *unstructured.Unstructured) action.Verdict { return kind.Decide(o.Run, a, object) }
	next, step, awaited := o.situationOf(a, decide).Next()
	return plan{action: &next, step: step, awaits: a.Name + ": " + awaited, until: a.Deadline.Time}
}

// planNext asks the kind, whose mistakes end the run.
func planNext[R metav1alpha1.Run, S any](kind Kind[R, S], o observation[R]) plan {
	move := kind.Next(o.View)
	if move.Outcome != "" {
		return plan{end: &ending{move.Outcome, move.Message}}
	}
	if move.Begin == nil {
		return plan{awaits: move.Message, until: move.Until}
	}
	view := o.clusters[move.Begin.Cluster]
	switch {
	case o.Action(move.Begin.Action) != nil:
		return plan{end: &ending{metav1alpha1.RunFailed, fmt.Sprintf("action %s would begin twice", move.Begin.Action)}}
	case view == nil:
		return plan{end: &ending{metav1alpha1.RunFailed, fmt.Sprintf("action %s would work in %s, which is none of the run's clusters", move.Begin.Action, move.Begin.Cluster)}}
	case view.cluster == nil: // Its identity has to be on record.
		awaits := view.Unreachable
		if awaits == "" {
			awaits = fmt.Sprintf("waits for TenantCluster %s", move.Begin.Cluster)
		}
		return plan{awaits: awaits, until: move.Until}
	}
	return plan{begin: move.Begin}
}

// lookAtRemovals is when an object that is on its way is looked at again, though no watch showed that it is gone: a kind may
// not be watchable any more.
const lookAtRemovals = time.Minute

// planRemoval removes what the run made.
func planRemoval[R metav1alpha1.Run](o observation[R]) plan {
	p := plan{}
	for _, a := range o.Run.GetRunStatus().Actions {
		if !a.Removed {
			p.remove = append(p.remove, a)
		}
	}
	p.finish, p.until = len(p.remove) == 0, o.Now.Add(lookAtRemovals)
	return p
}
