// Package background does what takes long, such as requests to storage, outside of reconciles: one task at a time for each
// object, few at a time for each namespace, and a bounded number in all. What comes of a task wakes its object.
//
// Nothing is stored: an object begins its task again after a restart of the manager.
package background

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// maxTasks is how many tasks of a kind are done at a time, and maxTasksOfOne how many of those for one namespace: who has
	// storage that answers slowly holds up nobody else.
	maxTasks      = 16
	maxTasksOfOne = 4
)

// retries of a task that failed, unless WithRetries says otherwise.
func retries() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 1 << 30, Cap: time.Minute}
}

// ID of a task. An object that was made anew is another one.
type ID struct {
	types.NamespacedName

	UID  types.UID
	Task string
	// Tenant has few tasks done at a time; the namespace if it is empty. It is for objects that work for others than those who
	// own their namespace.
	Tenant string
}

// IDOf a task of an object.
func IDOf(object client.Object, task string) ID {
	return ID{NamespacedName: client.ObjectKeyFromObject(object), UID: object.GetUID(), Task: task}
}

// Progress of a task. The zero Progress is that of one that nobody does.
type Progress[R any] struct {
	// Running: it is being done, or waits for a place. Result and Err are those of the try before.
	Running bool
	// Done: it has ended, with Result, or with an Err that no other try would mend.
	Done   bool
	Result R
	// Err is why the last try failed; nil if none did. The next one is not to be started before Again, which is zero while one
	// is running. A try that the deadline of the task cut off tells why the one before it failed, if that is known.
	Err   error
	Again time.Time
}

// Tasks are those of one kind of objects. Safe for concurrent use.
type Tasks[R any] struct {
	isFinal func(error) bool
	retries wait.Backoff
	clock   clock.PassiveClock
	// woken are objects to be reconciled. Nobody receives from it when the manager ends.
	woken chan event.GenericEvent

	mu       sync.Mutex
	closed   bool
	running  sync.WaitGroup
	byObject map[types.NamespacedName]*task[R]
	all      chan struct{}
	ofOne    map[string]chan struct{}
}

type task[R any] struct {
	id      ID
	cancel  context.CancelFunc
	backoff wait.Backoff
	Progress[R]
}

// New returns Tasks that are not tried again after an error that is final.
func New[R any](isFinal func(error) bool) *Tasks[R] {
	return &Tasks[R]{
		isFinal: isFinal, retries: retries(), clock: clock.RealClock{}, woken: make(chan event.GenericEvent), byObject: map[types.NamespacedName]*task[R]{},
		all: make(chan struct{}, maxTasks), ofOne: map[string]chan struct{}{},
	}
}

// WithRetries changes the pauses between tries, and the clock that tells when one is over. Call it before the first Start.
func (t *Tasks[R]) WithRetries(pauses wait.Backoff, clock clock.PassiveClock) *Tasks[R] {
	t.retries, t.clock = pauses, clock
	return t
}

// AddTo has a controller woken by what comes of tasks, and ends them with the manager.
func (t *Tasks[R]) AddTo(mgr manager.Manager, b *builder.Builder) error {
	b.WatchesRawSource(source.Channel(t.woken, &handler.EnqueueRequestForObject{}))
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		t.Close()
		return nil
	}))
}

// Progress of a task.
func (t *Tasks[R]) Progress(id ID) Progress[R] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.byObject[id.NamespacedName]; one != nil && one.id == id {
		return one.Progress
	}
	return Progress[R]{}
}

// Start has a task tried once, until the deadline. It takes the place of one of the object that is still under way. The object
// is woken when the try ends.
func (t *Tasks[R]) Start(id ID, deadline time.Time, do func(context.Context) (R, error)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	backoff, progress := t.retries, Progress[R]{Running: true}
	if before := t.byObject[id.NamespacedName]; before != nil {
		before.cancel()
		if before.id == id {
			backoff, progress.Result, progress.Err = before.backoff, before.Result, before.Err
		}
	}
	tenant := cmp.Or(id.Tenant, id.Namespace)
	ofOne := t.ofOne[tenant]
	if ofOne == nil {
		ofOne = make(chan struct{}, maxTasksOfOne)
		t.ofOne[tenant] = ofOne
	}
	life, cancel := context.WithCancel(context.Background())
	one := &task[R]{id: id, cancel: cancel, backoff: backoff, Progress: progress}
	t.byObject[id.NamespacedName] = one
	t.running.Go(func() {
		defer cancel()
		ctx, end := context.WithDeadline(life, deadline)
		defer end()
		result, err := t.try(ctx, ofOne, do)
		if life.Err() == nil {
			if err != nil && ctx.Err() != nil && progress.Err != nil {
				err = progress.Err
			}
			t.record(one, result, err)
			t.wake(life, id)
		}
	})
}

// try does a task once. It waits for a place among those of its namespace, and then among all.
func (t *Tasks[R]) try(ctx context.Context, ofOne chan struct{}, do func(context.Context) (R, error)) (result R, err error) {
	for _, places := range []chan struct{}{ofOne, t.all} {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-ctx.Done():
			return result, fmt.Errorf("too many others are under way: %w", ctx.Err())
		}
	}
	return do(ctx)
}

func (t *Tasks[R]) record(one *task[R], result R, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one.Progress = Progress[R]{Result: result, Err: err, Done: err == nil || t.isFinal(err)}
	if !one.Done {
		one.Again = t.clock.Now().Add(one.backoff.Step())
	}
}

func (t *Tasks[R]) wake(ctx context.Context, id ID) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: id.Namespace, Name: id.Name}}
	select {
	case t.woken <- event.GenericEvent{Object: object}:
	case <-ctx.Done():
	}
}

// Forget ends the task of an object, and drops what came of it.
func (t *Tasks[R]) Forget(object types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.byObject[object]; one != nil {
		one.cancel()
		delete(t.byObject, object)
	}
}

// Close ends all tasks, and waits for them. None starts after it.
func (t *Tasks[R]) Close() {
	t.mu.Lock()
	t.closed = true
	for _, one := range t.byObject {
		one.cancel()
	}
	t.mu.Unlock()
	t.running.Wait()
}
