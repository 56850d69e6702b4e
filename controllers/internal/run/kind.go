package run

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

// Kind is what is particular to a kind of runs R, whose status is an S. Objects that it is given must not be changed.
type Kind[R metav1alpha1.Run, S any] interface {
	// Name of the kind, as in "DRDrill".
	Name() string
	// New returns an empty run, NewList an empty list of runs.
	New() R
	NewList() client.ObjectList
	// Status is where a run keeps its status; CopyStatus writes a deep copy of a status over another one.
	Status(run R) *S
	CopyStatus(to, from *S)

	// Clusters are the TenantClusters in which a run works, as far as they are known, at most 8. Those that are in its status
	// stay what they are; further ones follow. An error is tried again.
	Clusters(ctx context.Context, run R) ([]metav1alpha1.ClusterReference, error)
	// Selections are the objects of others that a run looks at.
	Selections(run R) []Selection
	// Next decides what comes next. It is pure, and is called while no action and no task is under way.
	Next(view View[R]) Move[R]
	// Object is what an action makes; the room labels it, and names it if it has no name. It is nil as long as the clusters do
	// not show what it is made from, as after a start of the manager. It may read the management cluster. A
	// *Refusal as the error ends the action, and before it began the run; any other is tried again.
	Object(ctx context.Context, view View[R], action string) (*unstructured.Unstructured, error)
	// Decide says what became of the object of an action. It is pure.
	Decide(run R, a metav1alpha1.Action, object *unstructured.Unstructured) action.Verdict
	// Keeps is whether the object of an action stays when the run has ended.
	Keeps(run R, a metav1alpha1.Action) bool
}

// WatchingKind is a Kind whose runs depend on further objects of the management cluster.
type WatchingKind interface {
	// AddWatches adds watches to the controller of the kind.
	AddWatches(b *builder.Builder)
}

// QueuedKind is a Kind whose runs wait for one another.
type QueuedKind[R metav1alpha1.Run] interface {
	// Queue says what a run waits for that has not started; empty for nothing. It is asked again whenever something happens
	// to the run.
	Queue(ctx context.Context, run R) (waitsFor string, err error)
}

// TaskKind is a Kind whose runs do tasks.
type TaskKind[R metav1alpha1.Run, S any] interface {
	// Do does a task beside the workers, until its deadline ends the context. It is called again after an error, and after a
	// start of the manager, so doing it twice has to come to the same. A *Refusal as the error ends the task. What it
	// returns adds to the status what was found; it is pure.
	Do(ctx context.Context, view View[R], task string) (func(status *S), error)
}

// ConcludingKind is a Kind whose status tells more about the end of a run than its outcome.
type ConcludingKind[R metav1alpha1.Run] interface {
	// Conclude adds that to the status of a run that has just got its outcome. It is pure.
	Conclude(run R)
}

// RemovingKind is a Kind whose runs make something in the management cluster too.
type RemovingKind[R metav1alpha1.Run] interface {
	// Remove removes that, or has it removed, once what a run made in its clusters is gone or stays. It is called again after
	// an error, and after a start of the manager, and finds nothing to do then.
	Remove(ctx context.Context, run R) error
}

// LingeringKind is a Kind whose runs leave what they made where it is for a while.
type LingeringKind[R metav1alpha1.Run] interface {
	// RemovesAt is when a run that has ended removes what it made; zero for at once. Its deletion, and that of one of its
	// clusters, does not wait for it. It is pure.
	RemovesAt(run R) time.Time
}

// Selection is objects in a cluster in which a run works.
type Selection struct {
	Cluster types.NamespacedName
	fleet.Selection
}

// Move is what a run does next. The zero Move waits for the next event.
type Move[R metav1alpha1.Run] struct {
	// Begin an action; nil for none.
	Begin *Beginning
	// Task to begin; nil for none.
	Task *Task
	// Record adds to the status of a copy of the run what follows from the view, and Next is called again; nil for nothing. It
	// is pure.
	Record func(run R)
	// Outcome ends the run; empty if it goes on.
	Outcome metav1alpha1.RunOutcome
	// Message says more about the outcome, or what is awaited.
	Message string
	// Until is when Next is to be called at the latest; zero for whenever something happens.
	Until time.Time
}

// Beginning is an action that is about to begin.
type Beginning struct {
	// Action is its name, which no other action of the run has.
	Action string
	// Cluster in which it works, one of the run's.
	Cluster types.NamespacedName
	// Timeout of the action, more than zero.
	Timeout time.Duration
}

// Task is a task that is about to begin.
type Task struct {
	// Name of the task, which no other task of the run has.
	Name string
	// Timeout of the task, more than zero.
	Timeout time.Duration
}

// View is what a kind decides from.
type View[R metav1alpha1.Run] struct {
	Run R
	Now time.Time

	clusters map[types.NamespacedName]*clusterView
}

// NewView returns a view for tests of a kind: what watches show of selections, and why clusters cannot be worked with.
func NewView[R metav1alpha1.Run](run R, now time.Time, observed map[Selection]fleet.Observed, unreachable map[types.NamespacedName]string) View[R] {
	view := View[R]{Run: run, Now: now, clusters: map[types.NamespacedName]*clusterView{}}
	cluster := func(key types.NamespacedName) *clusterView {
		if view.clusters[key] == nil {
			view.clusters[key] = &clusterView{observed: map[fleet.Selection]fleet.Observed{}}
		}
		return view.clusters[key]
	}
	for selection, shown := range observed {
		cluster(selection.Cluster).observed[selection.Selection] = shown
	}
	for key, why := range unreachable {
		cluster(key).Unreachable = why
	}
	return view
}

// Action returns an action of the run; nil if it has not begun.
func (v View[R]) Action(name string) *metav1alpha1.Action { return v.Run.GetRunStatus().Action(name) }

// Task returns a task of the run; nil if it has not begun.
func (v View[R]) Task(name string) *metav1alpha1.RunTask { return v.Run.GetRunStatus().Task(name) }

// Cluster returns a cluster of the run to work with; nil if none is connected. Its identity is to be compared with that of
// the action for whose objects it is asked. A kind's pure functions do not call it.
func (v View[R]) Cluster(key types.NamespacedName) *fleet.Cluster {
	if one := v.clusters[key]; one != nil {
		return one.cluster
	}
	return nil
}

// Unreachable says why a cluster cannot be worked with; empty if it can, or if it is expected to answer any moment.
func (v View[R]) Unreachable(cluster types.NamespacedName) string {
	if one := v.clusters[cluster]; one != nil {
		return one.Unreachable
	}
	return ""
}

// Observed is what a watch shows of one of the run's selections. While its cluster is not connected, the selection is
// pending.
func (v View[R]) Observed(selection Selection) fleet.Observed {
	if one := v.clusters[selection.Cluster]; one != nil {
		return one.observed[selection.Selection]
	}
	return fleet.Observed{}
}

// Key is the name of a cluster in which a run works.
func Key(ref metav1alpha1.ClusterReference) types.NamespacedName {
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}
