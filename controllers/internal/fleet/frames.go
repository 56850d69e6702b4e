package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/untrusted"
)

const (
	// maxFrame is the largest event of a watch in bytes: an object, and what is around it.
	maxFrame = maxObject + 1<<10
	// readSize is how much is read of a watch at a time, in bytes; keptBuffer is how large a buffer stays when an
	// event is done with.
	readSize   = 4 << 10
	keptBuffer = 32 << 10
)

// frames reads the events of a watch, one JSON object after the other.
type frames struct {
	body   io.ReadCloser
	within time.Duration
	// buffer holds what was read; its first done bytes are of the last event.
	buffer []byte
	done   int
	late   atomic.Bool
	// share is held while the buffer is large.
	share  share
	closed chan struct{}
	once   sync.Once
}

func newFrames(body io.ReadCloser, within time.Duration, large turn) *frames {
	return &frames{body: body, within: within, share: share{turn: large}, closed: make(chan struct{})}
}

func (f *frames) close() {
	f.once.Do(func() { close(f.closed) })
	_ = f.body.Close() // Nothing more is read of it.
}

// next returns the next event, which is valid until the next call. It waits for its first byte for as long as the body
// is open, and for the rest of it as long as an event may take. The caller must drop it before it waits for anything.
func (f *frames) next() ([]byte, error) {
	for len(f.buffer) == 0 {
		if err := f.fill(); err != nil {
			return nil, err
		}
		f.buffer = bytes.TrimLeft(f.buffer, " \t\r\n")
	}
	timer := time.AfterFunc(f.within, func() {
		f.late.Store(true)
		f.close()
	})
	defer timer.Stop()
	var size untrusted.JSONSize
	for scanned := 0; ; {
		taken, ended := size.Scan(f.buffer[scanned:])
		scanned += taken
		if scanned > maxFrame || size.Values > maxValues {
			return nil, &limitError{"an event of the watch", sizeLimit{maxFrame, maxValues}}
		}
		if ended {
			f.done = scanned
			return f.buffer[:scanned], nil
		}
		if len(f.buffer) > largeRead && !f.share.held {
			timer.Stop()
			if !f.share.take(f.closed) {
				return nil, io.ErrUnexpectedEOF
			}
			timer.Reset(f.within)
		}
		if err := f.fill(); err != nil {
			return nil, f.explain(err)
		}
	}
}

// drop forgets the last event, and the buffer if it was a large one.
func (f *frames) drop() {
	defer f.share.give()
	rest := bytes.TrimLeft(f.buffer[f.done:], " \t\r\n")
	f.done = 0
	if cap(f.buffer) > keptBuffer {
		f.buffer = bytes.Clone(rest)
		return
	}
	f.buffer = append(f.buffer[:0], rest...)
}

// fill waits for more.
func (f *frames) fill() error {
	f.buffer = slices.Grow(f.buffer, readSize)
	n, err := f.body.Read(f.buffer[len(f.buffer):cap(f.buffer)])
	f.buffer = f.buffer[:len(f.buffer)+n]
	if n > 0 {
		return nil
	}
	return err
}

func (f *frames) explain(err error) error {
	switch {
	case f.late.Load():
		return fmt.Errorf("the rest of an event of the watch did not come within %s", f.within)
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// pieces bounds what is read between two calls of next, and in all.
type pieces struct {
	inner io.Reader
	// left of the piece, and total of all, in bytes.
	left, total int
	// share is taken as soon as a piece is large, since the buffer is as large from then on.
	share share
	ended <-chan struct{}
}

func (p *pieces) next() { p.left = maxFrame }

// Read implements io.Reader.
func (p *pieces) Read(into []byte) (int, error) {
	if maxFrame-p.left > largeRead && !p.share.take(p.ended) {
		return 0, errors.New("the time was over before other large answers were read")
	}
	n, err := p.inner.Read(into[:min(len(into), p.left+1)])
	if p.left -= n; p.left < 0 {
		return 0, &limitError{"an object of the list", sizeLimit{maxObject, maxValues}}
	}
	if p.total += n; p.total > maxPage {
		return 0, errPageTooLarge
	}
	return n, err
}

// readList hands on the items of a list as they come. It waits for its turn until ended is closed.
func readList(body io.Reader, large turn, ended <-chan struct{}, take func([]byte) error) (page, error) {
	limited := &pieces{inner: body, share: share{turn: large}, ended: ended}
	defer limited.share.give()
	limited.next()
	decoder := json.NewDecoder(limited)
	list := page{}
	if err := expect(decoder, json.Delim('{')); err != nil {
		return list, err
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return list, err
		}
		switch key {
		case "items":
			list.items, err = readItems(decoder, limited, take)
		case "metadata":
			err = decoder.Decode(&list.ListMeta)
		default:
			err = decoder.Decode(&json.RawMessage{})
		}
		if err != nil {
			return list, err
		}
	}
	list.bytes = limited.total
	return list, expect(decoder, json.Delim('}'))
}

func readItems(decoder *json.Decoder, limited *pieces, take func([]byte) error) (int, error) {
	start, err := decoder.Token()
	if err != nil || start == nil {
		return 0, err
	}
	if start != json.Delim('[') {
		return 0, fmt.Errorf("items are %T instead of an array", start)
	}
	var raw json.RawMessage
	count := 0
	for ; decoder.More(); count++ {
		limited.next()
		if err := decoder.Decode(&raw); err != nil {
			return count, err
		}
		if err := take(raw); err != nil {
			return count, err
		}
	}
	return count, expect(decoder, json.Delim(']'))
}

func expect(decoder *json.Decoder, want json.Delim) error {
	got, err := decoder.Token()
	if err == nil && got != want {
		err = fmt.Errorf("there is a %T instead of %v", got, want)
	}
	return err
}
