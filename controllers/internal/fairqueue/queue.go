package fairqueue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daytwo-dev/daytwo/controllers/internal/fairshare"
)

// Queue is a work queue for the workers of one controller.
type Queue[K comparable] struct {
	limiter workqueue.TypedRateLimiter[K]
	locate  func(K) Place
	metrics *queueMetrics[K]

	mu sync.Mutex
	// changed is signalled when a key may have become available to a worker, or the queue shuts down.
	changed   *sync.Cond
	scheduler *fairshare.Scheduler[K]
	delayed   delayed[K]
	// alarm fires when the next delayed key is to come, at the time alarmed; that is zero if none is.
	alarm   *time.Timer
	alarmed time.Time
	state   state
}

// state of a queue.
type state int

const (
	open state = iota
	// draining: nothing is added, and what waits is still handed out.
	draining
	// closed: nothing is handed out.
	closed
)

var _ priorityqueue.PriorityQueue[reconcile.Request] = &Queue[reconcile.Request]{}

// New returns the queue of a controller with so many workers. It takes the place of a key from locate whenever that is
// added.
func New[K comparable](controller string, limiter workqueue.TypedRateLimiter[K], workers int, locate func(K) Place) *Queue[K] {
	q := &Queue[K]{
		limiter: limiter, locate: locate, metrics: newQueueMetrics[K](controller),
		scheduler: fairshare.NewScheduler[K](fairshare.LimitsOf(workers)), delayed: newDelayed[K](),
	}
	q.changed = sync.NewCond(&q.mu)
	q.alarm = time.AfterFunc(time.Hour, q.ring)
	q.alarm.Stop()
	go q.metrics.run()
	return q
}

// Add implements workqueue.TypedInterface.
func (q *Queue[K]) Add(key K) { q.AddWithOpts(priorityqueue.AddOpts{}, key) }

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *Queue[K]) AddAfter(key K, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, key)
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *Queue[K]) AddRateLimited(key K) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, key)
}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (q *Queue[K]) AddWithOpts(options priorityqueue.AddOpts, keys ...K) {
	for _, key := range keys {
		claim := q.locate(key).claim(ptr.Deref(options.Priority, 0))
		q.add(key, claim, q.delayOf(key, options))
	}
}

// delayOf is after how long a key is to come.
func (q *Queue[K]) delayOf(key K, options priorityqueue.AddOpts) time.Duration {
	if !options.RateLimited {
		return options.After
	}
	limited := q.limiter.When(key)
	if options.After == 0 {
		return limited
	}
	return min(options.After, limited)
}

func (q *Queue[K]) add(key K, claim fairshare.Claim, after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state != open {
		return
	}
	if after > 0 {
		q.metrics.retries.Inc()
	}
	if _, waits := q.scheduler.Claim(key); !waits && after > 0 {
		q.delayed.put(key, claim, time.Now().Add(after))
		q.setAlarm()
		return
	}
	if before := q.delayed.take(key); before != nil {
		claim = claim.Merged(before.claim)
	}
	q.enqueue(key, claim)
}

// enqueue has a key wait for a worker.
func (q *Queue[K]) enqueue(key K, claim fairshare.Claim) {
	before, waits := q.scheduler.Claim(key)
	q.scheduler.Add(key, claim)
	if !waits {
		q.metrics.add(key, claim.Priority)
	} else if claim.Priority > before.Priority {
		q.metrics.raise(before.Priority, claim.Priority)
	}
	q.wake()
}

// ring has the keys wait for a worker whose time has come.
func (q *Queue[K]) ring() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state != open {
		return
	}
	q.alarmed = time.Time{}
	for _, one := range q.delayed.due(time.Now()) {
		q.enqueue(one.key, one.claim)
	}
	q.setAlarm()
}

// setAlarm has the alarm fire when the next key is to come.
func (q *Queue[K]) setAlarm() {
	if next := q.delayed.next(); !next.IsZero() && (q.alarmed.IsZero() || next.Before(q.alarmed)) {
		q.alarmed = next
		q.alarm.Reset(time.Until(next))
	}
}

// Get implements workqueue.TypedInterface.
func (q *Queue[K]) Get() (key K, shutdown bool) {
	key, _, shutdown = q.GetWithPriority()
	return key, shutdown
}

// GetWithPriority implements priorityqueue.PriorityQueue: it waits until there is a key that a worker may have.
func (q *Queue[K]) GetWithPriority() (key K, priority int, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.state == open || q.state == draining && q.scheduler.Waiting() > 0 {
		if next, claim, ok := q.scheduler.Next(); ok {
			q.metrics.get(next, claim.Priority)
			q.wake() // There may be another key for another worker.
			return next, claim.Priority, false
		}
		q.changed.Wait()
	}
	return key, 0, true
}

// Done implements workqueue.TypedInterface.
func (q *Queue[K]) Done(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.scheduler.Done(key)
	q.metrics.done(key)
	q.wake()
}

// wake has a worker look for a key. One that finds one wakes the next.
func (q *Queue[K]) wake() {
	if q.state == open {
		q.changed.Signal()
		return
	}
	q.changed.Broadcast() // Not only workers wait.
}

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *Queue[K]) Forget(key K) { q.limiter.Forget(key) }

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (q *Queue[K]) NumRequeues(key K) int { return q.limiter.NumRequeues(key) }

// Len is how many keys wait for a worker.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.scheduler.Waiting()
}

// ShutDown ends the queue: workers get nothing any more, whatever waits.
func (q *Queue[K]) ShutDown() { q.end(closed) }

// ShutDownWithDrain takes nothing more, and returns when the workers are done with all that waits for no time to come, or
// after ShutDown.
func (q *Queue[K]) ShutDownWithDrain() {
	q.end(draining)
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.state != closed && q.scheduler.Waiting()+q.scheduler.Held() > 0 {
		q.changed.Wait()
	}
}

func (q *Queue[K]) end(in state) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state == open {
		q.alarm.Stop()
		q.metrics.stop()
	}
	q.state = max(q.state, in)
	q.changed.Broadcast()
}

// ShuttingDown implements workqueue.TypedInterface.
func (q *Queue[K]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state != open
}
