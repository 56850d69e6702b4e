package charts

import "slices"

// task is one fetch, for all keys that wait for it.
type task[K comparable] struct {
	asked       *request
	fingerprint string
	tenant      string // of the key that came first
	keys        map[K]struct{}
	cancel      func() // nil until it runs
}

// tasks are those that run or wait. It decides which may run, and knows nothing of how.
type tasks[K comparable] struct {
	atOnce, perHost, perTenant int

	current map[string]*task[K] // by fingerprint: those that can be joined
	waiting []*task[K]          // in the order in which they came
	running int
	hosts   map[string]int // running ones
	tenants map[string]int
}

func newJobs[K comparable](atOnce, perHost, perTenant int) tasks[K] {
	return tasks[K]{
		atOnce: atOnce, perHost: perHost, perTenant: perTenant,
		current: map[string]*task[K]{}, hosts: map[string]int{}, tenants: map[string]int{},
	}
}

// join returns the job for a source, a new one if there is none.
func (j *tasks[K]) join(key K, fingerprint string, asked *request, tenant string) *task[K] {
	work := j.current[fingerprint]
	if work == nil {
		work = &task[K]{asked: asked, fingerprint: fingerprint, tenant: tenant, keys: map[K]struct{}{}}
		j.current[fingerprint] = work
		j.waiting = append(j.waiting, work)
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
	j.waiting = slices.DeleteFunc(j.waiting, func(other *task[K]) bool { return other == work })
}

// next returns the first job that may run, and counts it as running, or nil. Those whose host or
// tenant has its share already are passed over.
func (j *tasks[K]) next() *task[K] {
	if j.running >= j.atOnce {
		return nil
	}
	at := slices.IndexFunc(j.waiting, func(work *task[K]) bool {
		return j.hosts[work.asked.host] < j.perHost && j.tenants[work.tenant] < j.perTenant
	})
	if at < 0 {
		return nil
	}
	work := j.waiting[at]
	j.waiting = slices.Delete(j.waiting, at, at+1)
	j.running++
	j.hosts[work.asked.host]++
	j.tenants[work.tenant]++
	return work
}

// finish takes a job that ran out of the counts.
func (j *tasks[K]) finish(work *task[K]) {
	if j.current[work.fingerprint] == work {
		delete(j.current, work.fingerprint)
	}
	j.running--
	countDown(j.hosts, work.asked.host)
	countDown(j.tenants, work.tenant)
}

func countDown[key comparable](counts map[key]int, of key) {
	counts[of]--
	if counts[of] == 0 {
		delete(counts, of)
	}
}
