package fairqueue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// tenantOf has keys such as "a/1" work for the tenant in front.
func tenantOf(key string) Place { return Place{Tenant: key[:1]} }

func newQueue(t *testing.T, workers int) *Queue[string] { return newNamedQueue(t, t.Name(), workers) }

func newNamedQueue(t *testing.T, name string, workers int) *Queue[string] {
	q := New(name, workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute), workers, tenantOf)
	t.Cleanup(q.ShutDown)
	return q
}

// worker remembers what workers got.
type worker struct {
	mu   sync.Mutex
	keys []string
}

// work takes keys until the queue shuts down, and calls do with each.
func (w *worker) work(q *Queue[string], do func(key string)) {
	for {
		key, shutdown := q.Get()
		if shutdown {
			return
		}
		w.mu.Lock()
		w.keys = append(w.keys, key)
		w.mu.Unlock()
		do(key)
		q.Done(key)
	}
}

func (w *worker) got() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.keys)
}

func TestAKeyOverItsShareWaitsWithoutAWorkerAndComesWhenAPlaceIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, release := newQueue(t, 8), make(chan struct{})
		var w worker
		for range 8 {
			go w.work(q, func(key string) {
				if key[0] == 's' {
					<-release
				}
			})
		}
		for i := range 10 {
			q.Add(fmt.Sprint("s", i))
		}
		synctest.Wait()
		if got := len(w.got()); got != 2 {
			t.Fatalf("%d of 8 workers work for one tenant", got)
		}
		q.Add("other")
		synctest.Wait()
		if got := w.got(); got[len(got)-1] != "other" {
			t.Fatalf("beside a slow tenant, %q", got)
		}
		for range 10 {
			release <- struct{}{}
		}
		synctest.Wait()
		if got := len(w.got()); got != 11 || q.Len() != 0 {
			t.Fatalf("%d keys of 11 came, %d wait", got, q.Len())
		}
	})
}

func TestAKeyThatIsAddedWhileItIsWorkedOnComesAgainAfterThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, release := newQueue(t, 8), make(chan struct{})
		var w worker
		var atOnce, most atomic.Int32
		for range 4 {
			go w.work(q, func(string) {
				most.Store(max(most.Load(), atOnce.Add(1)))
				<-release
				atOnce.Add(-1)
			})
		}
		q.Add("a")
		synctest.Wait()
		q.Add("a")
		q.AddAfter("a", time.Second)
		synctest.Wait()
		close(release)
		time.Sleep(time.Minute)
		if got := w.got(); len(got) != 2 || most.Load() != 1 {
			t.Fatalf("worked on %q, %d workers at a time", got, most.Load())
		}
	})
}

func TestAKeyComesAtTheEarliestTimeWithTheHighestPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, 8)
		q.AddAfter("late", time.Hour)
		q.AddAfter("a", time.Minute)
		q.AddWithOpts(priorityqueue.AddOpts{After: time.Hour, Priority: ptr.To(100)}, "a")
		q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, After: time.Hour}, "b")
		began := time.Now()
		for _, want := range []struct {
			key      string
			priority int
			after    time.Duration
		}{{"b", 0, time.Second}, {"a", 100, time.Minute}, {"late", 0, time.Hour}} {
			key, priority, _ := q.GetWithPriority()
			if key != want.key || priority != want.priority || time.Since(began) != want.after {
				t.Fatalf("%s with priority %d after %s, want %+v", key, priority, time.Since(began), want)
			}
			q.Done(key)
		}
		q.AddAfter("now", time.Hour)
		q.Add("now")
		if key, _ := q.Get(); key != "now" || time.Since(began) != time.Hour {
			t.Fatalf("%s after %s, though it was added again without a delay", key, time.Since(began))
		}
	})
}

func TestAfterShutDownWorkersEndWhateverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, 8)
		q.Add("a")
		q.ShutDown()
		if key, shutdown := q.Get(); !shutdown || key != "" || !q.ShuttingDown() {
			t.Fatalf("got %q", key)
		}
		q.Add("b")
		if q.Len() != 1 {
			t.Fatalf("%d keys wait after another was added", q.Len())
		}
	})
}

func TestDrainingEndsWhenAllThatWaitsIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, release := newQueue(t, 8), make(chan struct{})
		for i := range 5 {
			q.Add(fmt.Sprint("a", i))
		}
		var w worker
		for range 8 {
			go w.work(q, func(string) { <-release })
		}
		var drained atomic.Bool
		go func() {
			q.ShutDownWithDrain()
			drained.Store(true)
		}()
		synctest.Wait()
		q.Add("b")
		if drained.Load() {
			t.Fatal("drained while workers work")
		}
		close(release)
		synctest.Wait()
		if got := w.got(); len(got) != 5 || !drained.Load() {
			t.Fatalf("drained: %t, after %q", drained.Load(), got)
		}
	})
}

func TestItHasTheMetricsOfOtherWorkQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := fmt.Sprint(t.Name(), rand.Int())
		q := newNamedQueue(t, name, 8)
		q.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(-100)}, "a1", "a2")
		q.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(100)}, "a2")
		q.AddAfter("a3", time.Hour)
		key, _ := q.Get()
		time.Sleep(time.Second)
		want := map[string]float64{
			"workqueue_depth priority=-100": 1, "workqueue_depth priority=100": 0,
			"workqueue_adds_total": 2, "workqueue_retries_total": 1, "workqueue_queue_duration_seconds": 1,
			"workqueue_work_duration_seconds": 0, "workqueue_unfinished_work_seconds": 1, "workqueue_longest_running_processor_seconds": 1,
		}
		for name, value := range gathered(t, name) {
			if want[name] != value {
				t.Errorf("%s is %v, want %v", name, value, want[name])
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("not there: %v", want)
		}
		q.Done(key)
		if got := gathered(t, name)["workqueue_work_duration_seconds"]; got != 1 {
			t.Errorf("work on %v keys has ended", got)
		}
	})
}

// gathered are the metrics of a queue, as controller-runtime's registry has them: values, or how many were observed.
func gathered(t *testing.T, queue string) map[string]float64 {
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		for _, one := range family.GetMetric() {
			name, own := family.GetName(), false
			for _, label := range one.GetLabel() {
				own = own || label.GetName() == "controller" && label.GetValue() == queue
				if label.GetName() == "priority" {
					name += " priority=" + label.GetValue()
				}
			}
			if own {
				found[name] = one.GetGauge().GetValue() + one.GetCounter().GetValue() + float64(one.GetHistogram().GetSampleCount())
			}
		}
	}
	return found
}
