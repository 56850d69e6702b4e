package charts

import (
	"context"
	"sync"

	"github.com/daytwo-dev/daytwo/controllers/internal/fairshare"
)

// AsyncFetcherOptions of an AsyncFetcher. The zero value is the default.
type AsyncFetcherOptions[K comparable] struct {
	// Done, unless nil, is called when a Request of the key would return a result, from a goroutine
	// of the AsyncFetcher that it must not hold up. It may call the AsyncFetcher, except Close.
	Done func(K)
	// AtOnce is the most fetches at a time; if zero, 16.
	AtOnce int
	// PerHost is the most of them from one repository host; if zero, 4. One tenant gets half of these at most, and one in any case.
	PerHost int
	// PerTenant is the most of them for one tenant; if zero, 4. Somebody with many host names that
	// all stall holds up no more than that, and less where others fetch too.
	PerTenant int
	// Tenant names whom a key belongs to, its namespace for instance; nil: all to one, without a limit.
	Tenant func(K) string
	// KeepBytes is how many bytes of archives are kept in results that nobody has forgotten yet, one
	// that is shared counted once; if zero, 64 MiB. Above that, the oldest results are dropped, and
	// fetched again when they are requested again.
	KeepBytes int64
}

func (o AsyncFetcherOptions[K]) withDefaults() AsyncFetcherOptions[K] {
	o.AtOnce = orDefault(o.AtOnce, 16)
	o.PerHost = orDefault(o.PerHost, 4)
	o.PerTenant = orDefault(o.PerTenant, 4)
	o.KeepBytes = orDefault(o.KeepBytes, 64<<20)
	if o.Done == nil {
		o.Done = func(K) {}
	}
	return o
}

// limits are for package fairshare.
func (o AsyncFetcherOptions[K]) limits() fairshare.Limits {
	limits := fairshare.Limits{Places: o.AtOnce, PerTenant: o.PerTenant, PerGroup: o.PerHost, PerTenantInGroup: max(1, o.PerHost/2)}
	if o.Tenant == nil {
		limits.PerTenant, limits.PerTenantInGroup = o.AtOnce, o.PerHost
	}
	return limits
}

func (o AsyncFetcherOptions[K]) tenantOf(key K) string {
	if o.Tenant == nil {
		return ""
	}
	return o.Tenant(key)
}

// Result of a fetch: one of both is set.
type Result struct {
	Chart *Chart
	Err   error
}

// AsyncFetcher takes requests for charts and has them fetched in the background. One result is kept for
// each key, until it is forgotten. Requests for the same Source that are under way at the same time
// share one fetch.
type AsyncFetcher[K comparable] struct {
	options AsyncFetcherOptions[K]
	fetch   func(context.Context, Source) (*Chart, error)
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu          sync.Mutex
	closed      bool
	orders      map[K]*order[K]
	tasks       tasks[K]
	resultCache resultCache[K]
}

// order is what was last requested for a key. Its job is nil when the result is there.
type order[K comparable] struct {
	source, token string // the Source's fingerprint
	job           *task[K]
	result        Result
}

// NewAsyncFetcher returns an AsyncFetcher that fetches with fetcher. Close it when it is no longer needed.
func NewAsyncFetcher[K comparable](fetcher *Fetcher, options AsyncFetcherOptions[K]) *AsyncFetcher[K] {
	return newAsyncFetcher(fetcher.Fetch, options)
}

func newAsyncFetcher[K comparable](fetch func(context.Context, Source) (*Chart, error), options AsyncFetcherOptions[K]) *AsyncFetcher[K] {
	options = options.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	return &AsyncFetcher[K]{
		options:     options,
		fetch:       fetch,
		ctx:         ctx,
		cancel:      cancel,
		orders:      map[K]*order[K]{},
		tasks:       newJobs[K](options.limits()),
		resultCache: resultCache[K]{limit: options.KeepBytes, uses: map[*byte]int{}},
	}
}

// Request returns the result for the key if it is there, and otherwise sees that it will be. It
// never blocks. The token stands for one attempt: with another one, or another source, the chart is
// fetched again, and a kept result no longer counts; with the same, a failed fetch stays failed. A
// fetch that is already under way for the same source will do for a new token.
func (d *AsyncFetcher[K]) Request(key K, source Source, token string) (Result, bool) {
	asked, err := check(source)
	fingerprint := source.fingerprint()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return Result{Err: ErrClosed}, true
	}
	if err != nil {
		d.forget(key, nil)
		d.startWhatMay()
		return Result{Err: err}, true
	}
	if placed := d.orders[key]; placed != nil && placed.source == fingerprint && placed.token == token {
		return placed.result, placed.job == nil
	}
	// The new one is placed first: the job of the old one may be the same, and goes on then.
	placed := &order[K]{source: fingerprint, token: token, job: d.tasks.join(key, fingerprint, asked, d.options.tenantOf(key))}
	d.forget(key, placed.job)
	d.orders[key] = placed
	d.startWhatMay()
	return Result{}, false
}

// Forget drops the key's result, or ends its fetch if nobody else waits for it. Forget a result as
// soon as it was put to use, and whenever what the key stands for is deleted.
func (d *AsyncFetcher[K]) Forget(key K) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(key, nil)
	d.startWhatMay()
}

// forget leaves the key's job alone if that is still needed.
func (d *AsyncFetcher[K]) forget(key K, needed *task[K]) {
	placed := d.orders[key]
	if placed == nil {
		return
	}
	delete(d.orders, key)
	d.resultCache.remove(key)
	if placed.job != nil && placed.job != needed {
		d.tasks.leave(key, placed.job)
	}
}

// Close ends all fetches and waits for them. Later requests get ErrClosed. Done is not called for
// what was under way.
func (d *AsyncFetcher[K]) Close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.cancel()
	d.running.Wait()
}

func (d *AsyncFetcher[K]) startWhatMay() {
	for next := d.tasks.next(); next != nil && !d.closed; next = d.tasks.next() {
		ctx, cancel := context.WithCancel(d.ctx)
		next.cancel = cancel
		d.running.Go(func() { d.run(ctx, next) })
	}
}

func (d *AsyncFetcher[K]) run(ctx context.Context, work *task[K]) {
	defer work.cancel()
	chart, err := d.fetch(ctx, work.asked.Source)
	for _, key := range d.finish(work, Result{Chart: chart, Err: err}) {
		d.options.Done(key)
	}
}

// finish hands the result to those who wait for it, and returns them.
func (d *AsyncFetcher[K]) finish(work *task[K], result Result) []K {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tasks.finish(work)
	if d.closed {
		return nil
	}
	keys := make([]K, 0, len(work.keys))
	for key := range work.keys {
		placed := d.orders[key]
		placed.job, placed.result = nil, result
		keys = append(keys, key)
		for _, dropped := range d.resultCache.add(key, result) {
			delete(d.orders, dropped)
		}
	}
	d.startWhatMay()
	return keys
}
