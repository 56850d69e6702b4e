package charts

import (
	"context"
	"net"
	"net/http"

	"github.com/daytwo-dev/daytwo/internal/netguard"
)

// Fetcher fetches charts. It may be used by any number of goroutines, and has none of its own.
type Fetcher struct {
	options  Options
	archives *archives
	// parsing has room for one index that is parsed as a whole, which takes much more memory than
	// the index has bytes.
	parsing chan struct{}
	guard   netguard.Guard
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
}

// NewFetcher returns a Fetcher with an empty cache.
func NewFetcher(options Options) *Fetcher {
	options = options.withDefaults()
	f := &Fetcher{options: options, archives: newArchives(options.CacheBytes), parsing: make(chan struct{}, 1), guard: newGuard(options)}
	f.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return dial(ctx, f.guard, network, address)
	}
	return f
}

// Fetch returns the newest chart that the source names. It asks the repository every time, since a
// range, or a tag, may lead elsewhere by now; only the archive comes from the cache. It blocks up
// to Options.Timeout. Errors that another try cannot mend are *Error.
func (f *Fetcher) Fetch(ctx context.Context, source Source) (*Chart, error) {
	asked, err := check(source)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.options.Timeout)
	defer cancel()
	// Connections end after the fetch, not with its deadline: or else errors would speak of those.
	alive, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	s := f.open(ctx, alive, asked)
	chart, err := s.run(ctx)
	switch {
	case err == nil:
		return chart, nil
	case ctx.Err() != nil:
		// What ran out of time may look like a mistake of the source to the one that read it.
		return nil, s.transient(ctx.Err())
	}
	return nil, s.explain(err)
}

// open prepares a fetch. Its client may be used until ctx ends, and leaves nothing once alive has.
func (f *Fetcher) open(ctx, alive context.Context, asked *request) *fetch {
	restrictedTransport := &restrictedTransport{host: asked.host, permits: f.guard.Permits, next: newTransport(ctx, alive, asked, f)}
	return &fetch{
		request:             asked,
		fetcher:             f,
		restrictedTransport: restrictedTransport,
		client:              &http.Client{Transport: restrictedTransport, CheckRedirect: checkRedirect},
	}
}
