package bounded

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// maxFrame is the largest event of a watch in bytes: an object, and what is around it.
const maxFrame = maxObject + 1<<10

// frames reads the events of a watch, one JSON object after the other.
type frames struct {
	body   io.ReadCloser
	within time.Duration
	values values
	late   atomic.Bool
	// share is held while the buffer is large.
	share  Share
	closed chan struct{}
	once   sync.Once
}

func newFrames(body io.ReadCloser, within time.Duration, large *Turn) *frames {
	return &frames{
		body: body, within: within, share: Share{Turn: large}, closed: make(chan struct{}),
		values: values{body: body, what: "an event of the watch", limit: SizeLimit{maxFrame, maxValues}},
	}
}

func (f *frames) close() {
	f.once.Do(func() { close(f.closed) })
	_ = f.body.Close() // Nothing more is read of it.
}

// next returns the next event, which is valid until the next call. It waits for its first byte for as long as the body
// is open, and for the rest of it as long as an event may take. The caller must drop it before it waits for anything.
func (f *frames) next() ([]byte, error) {
	if _, err := f.values.peek(); err != nil {
		return nil, err
	}
	timer := time.AfterFunc(f.within, func() {
		f.late.Store(true)
		f.close()
	})
	defer timer.Stop()
	f.values.wait = func() error {
		if f.share.held {
			return nil
		}
		timer.Stop()
		err := f.share.Take(f.closed)
		if errors.Is(err, errNoTurn) {
			return io.ErrUnexpectedEOF
		}
		timer.Reset(f.within)
		return err
	}
	frame, err := f.values.next()
	if err != nil {
		f.share.end(err)
	}
	if err != nil && f.late.Load() {
		return nil, fmt.Errorf("the rest of an event of the watch did not come within %s", f.within)
	}
	return frame, err
}

// drop forgets the last event.
func (f *frames) drop() {
	defer f.share.Give()
	f.values.drop()
}
