package charts

import (
	"context"
	"math"
	"sync"

	"github.com/maypok86/otter/v2"
)

// key of an archive in the cache. The digest alone would open it to everybody who knows the digest
// and has a server that announces it: the scope stands for the server that was asked, and for
// whatever it had to be told to hand the archive out.
type key struct{ digest, scope string }

// archives is the cache, bounded by the bytes in it, and the downloads that will fill it.
type archives struct {
	kept *otter.Cache[key, []byte]

	mu       sync.Mutex
	underWay map[key]chan struct{} // closed at the end of the download
}

func newArchives(limit int64) *archives {
	return &archives{
		underWay: map[key]chan struct{}{},
		kept: otter.Must(&otter.Options[key, []byte]{
			MaximumWeight: uint64(limit),
			Weigher:       func(_ key, archive []byte) uint32 { return uint32(min(len(archive), math.MaxUint32)) },
			// In the caller's goroutine: then none is left when the fetch has ended.
			Executor: func(work func()) { work() },
		}),
	}
}

// get returns a kept archive, or that of download. Those who want the same one wait for the download
// that is under way; if it fails, the next of them tries with its own connection and time. Without
// a digest there is nothing to find it again by, so it is not kept.
func (a *archives) get(ctx context.Context, wanted key, download func() ([]byte, error)) ([]byte, error) {
	if wanted.digest == "" {
		return download()
	}
	for {
		archive, wait := a.enter(wanted)
		if archive != nil {
			return archive, nil
		}
		if wait == nil {
			return a.fill(wanted, download)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// enter returns the archive, or the download to wait for, or neither: then the caller is to fill it.
func (a *archives) enter(wanted key) ([]byte, chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if archive, there := a.kept.GetIfPresent(wanted); there {
		return archive, nil
	}
	if wait, there := a.underWay[wanted]; there {
		return nil, wait
	}
	a.underWay[wanted] = make(chan struct{})
	return nil, nil
}

func (a *archives) fill(wanted key, download func() ([]byte, error)) ([]byte, error) {
	defer a.leave(wanted)
	archive, err := download()
	if err != nil {
		return nil, err
	}
	a.kept.Set(wanted, archive)
	a.kept.CleanUp()
	return archive, nil
}

func (a *archives) leave(wanted key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.underWay[wanted])
	delete(a.underWay, wanted)
}
