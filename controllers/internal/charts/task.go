package charts

import "github.com/daytwo-dev/daytwo/controllers/internal/fairshare"

// task is one fetch, for all keys that wait for it.
type task[K comparable] struct {
	asked       *request
	fingerprint string
	keys        map[K]struct{}
	cancel      func() // nil until it runs
}

// tasks are those that run or wait. It decides which may run, and knows nothing of how.
type tasks[K comparable] struct {
	current map[string]*task[K] // by fingerprint: those that can be joined
	// order in which they run: tenant by tenant, as many of a host and a tenant as may.
	order *fairshare.Scheduler[*task[K]]
}

func newJobs[K comparable](limits fairshare.Limits) tasks[K] {
	return tasks[K]{current: map[string]*task[K]{}, order: fairshare.NewScheduler[*task[K]](limits)}
}

// join returns the job for a source, a new one if there is none.
func (j *tasks[K]) join(key K, fingerprint string, asked *request, tenant string) *task[K] {
	work := j.current[fingerprint]
	if work == nil {
		work = &task[K]{asked: asked, fingerprint: fingerprint, keys: map[K]struct{}{}}
		j.current[fingerprint] = work
		j.order.Add(work, fairshare.Claim{Tenant: tenant, Group: asked.host})
	}
	work.keys[key] = struct{}{}
	return work
}

// leave ends a job that nobody waits for any longer. Until it has really ended it counts.
func (j *tasks[K]) leave(key K, work *task[K]) {
	delete(work.keys, key)
	if len(work.keys) > 0 {
		return
	}
	delete(j.current, work.fingerprint)
	if work.cancel != nil {
		work.cancel()
		return
	}
	j.order.Remove(work)
}

// next returns the next job that may run, and counts it as running, or nil.
func (j *tasks[K]) next() *task[K] {
	work, _, _ := j.order.Next()
	return work
}

// finish takes a job that ran out of the counts.
func (j *tasks[K]) finish(work *task[K]) {
	if j.current[work.fingerprint] == work {
		delete(j.current, work.fingerprint)
	}
	j.order.Done(work)
}
