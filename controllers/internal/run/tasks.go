package run

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

const (
	// maxTasks is how many tasks of a kind are done at a time, and maxTasksOfOne how many of those for one namespace: who has
	// storage that answers slowly holds up nobody else.
	maxTasks      = 16
	maxTasksOfOne = 4
)

// Refusal ends a task that no other try would mend.
type Refusal struct{ Message string }

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// retries of a task that failed.
func retries() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 1 << 30, Cap: time.Minute}
}

// progress of a task.
type progress[S any] struct {
	// underWay: it is being done.
	underWay bool
	// done: it has ended, and record changes the status.
	done   bool
	record func(*S)
	// err is why the last try failed; nil if none did. The next one is not before again.
	err   error
	again time.Time
}

// tasks does the tasks of runs, one at a time for each. Safe for concurrent use.
type tasks[S any] struct {
	// woken are runs to be reconciled. Nobody receives from it when the manager ends.
	woken chan event.GenericEvent

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
	byRun   map[types.NamespacedName]*task[S]
	all     chan struct{}
	ofOne   map[string]chan struct{}
}

type task[S any] struct {
	run     types.UID
	name    string
	cancel  context.CancelFunc
	backoff wait.Backoff
	progress[S]
}

// progressOf the task of a run that is under way; the zero progress if there is none, or nobody does it.
func (t *tasks[S]) progressOf(run metav1alpha1.Run) progress[S] {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.byRun[client.ObjectKeyFromObject(run)]
	current := taskUnderWay(run.GetRunStatus())
	if one == nil || current == nil || one.run != run.GetUID() || one.name != current.Name {
		return progress[S]{}
	}
	return one.progress
}

func taskUnderWay(status *metav1alpha1.RunStatus) *metav1alpha1.RunTask {
	for i := range status.Tasks {
		if status.Tasks[i].Outcome == "" {
			return &status.Tasks[i]
		}
	}
	return nil
}

// start has a task tried once, until its deadline. It takes the place of one of the run that is still under way. Each try sees
// the run and its clusters as they are then.
func (t *tasks[S]) start(run metav1alpha1.Run, record metav1alpha1.RunTask, do func(context.Context) (func(*S), error)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	key, backoff := client.ObjectKeyFromObject(run), retries()
	if before := t.byRun[key]; before != nil {
		before.cancel()
		if before.run == run.GetUID() && before.name == record.Name {
			backoff = before.backoff
		}
	}
	if t.byRun == nil {
		t.byRun, t.ofOne, t.all = map[types.NamespacedName]*task[S]{}, map[string]chan struct{}{}, make(chan struct{}, maxTasks)
	}
	ofOne := t.ofOne[run.GetNamespace()]
	if ofOne == nil {
		ofOne = make(chan struct{}, maxTasksOfOne)
		t.ofOne[run.GetNamespace()] = ofOne
	}
	ctx, cancel := context.WithDeadline(context.Background(), record.Deadline.Time)
	one := &task[S]{run: run.GetUID(), name: record.Name, cancel: cancel, backoff: backoff, progress: progress[S]{underWay: true}}
	t.byRun[key] = one
	t.running.Go(func() {
		defer cancel()
		t.try(ctx, one, key, ofOne, do)
	})
}

// try does a task once. It waits for a place among those of its namespace, and then among all.
func (t *tasks[S]) try(ctx context.Context, one *task[S], key types.NamespacedName, ofOne chan struct{}, do func(context.Context) (func(*S), error)) {
	if !take(ctx, ofOne) {
		return
	}
	defer func() { <-ofOne }()
	if !take(ctx, t.all) {
		return
	}
	record, err := do(ctx)
	<-t.all
	if ctx.Err() != nil {
		return
	}
	var refusal *Refusal
	now := progress[S]{record: record, err: err, done: err == nil || errors.As(err, &refusal)}
	t.mu.Lock()
	if !now.done {
		now.again = time.Now().Add(one.backoff.Step())
	}
	one.progress = now
	t.mu.Unlock()
	t.wake(ctx, key)
}

func (t *tasks[S]) wake(ctx context.Context, run types.NamespacedName) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Name}}
	select {
	case t.woken <- event.GenericEvent{Object: object}:
	case <-ctx.Done():
	}
}

// take takes a place, unless the context ends first.
func take(ctx context.Context, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// forget ends the task of a run, and drops what came of it.
func (t *tasks[S]) forget(run types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.byRun[run]; one != nil {
		one.cancel()
		delete(t.byRun, run)
	}
}

// close ends all tasks, and waits for them.
func (t *tasks[S]) close() {
	t.mu.Lock()
	t.closed = true
	for _, one := range t.byRun {
		one.cancel()
	}
	t.mu.Unlock()
	t.running.Wait()
}
