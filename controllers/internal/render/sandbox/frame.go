package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The manager and a worker exchange frames: four bytes of length, big-endian, one that says what
// sort of frame it is, and the payload. The manager sends a request, and after that of a chart its
// archive. The worker answers with a reply, before which it may ask for any number of lookups; each
// is answered at once. In between it says once that it renders a chart for the second time.

// FrameKind tells what a frame's payload is.
type FrameKind byte

const (
	// FrameReady is empty. A worker sends it once, when it can be used.
	FrameReady FrameKind = iota + 1
	// FrameRequest holds a task as JSON.
	FrameRequest
	// FrameArchive holds a packaged chart, as it is.
	FrameArchive
	// FrameReply holds a reply as JSON.
	FrameReply
	// FrameLookup holds a lookupQuery as JSON.
	FrameLookup
	// FrameFound holds a lookupAnswer as JSON.
	FrameFound
	// FrameAgain is empty. The limit of time is to be measured anew.
	FrameAgain
)

// frameHeader is the length of what is before the payload.
const frameHeader = 5

// Frame is one message between the manager and a worker.
type Frame struct {
	Kind    FrameKind
	Payload []byte
}

// ErrFrameTooLarge tells that a frame has more bytes than its reader takes.
var ErrFrameTooLarge = errors.New("frame is too large")

// Write writes one frame. The payload has fewer than 4 GiB.
func Write(w io.Writer, kind FrameKind, payload []byte) error {
	header := binary.BigEndian.AppendUint32(make([]byte, 0, frameHeader), uint32(len(payload)))
	if _, err := w.Write(append(header, byte(kind))); err != nil {
		return err
	}
	_, err := w.Write(payload)
	return err
}

// Read returns io.EOF if the other side closed the pipe between frames, and
// ErrFrameTooLarge, before reading the payload, if it has more than limit bytes.
func Read(r io.Reader, limit int) (Frame, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return Frame{}, err
	}
	length := binary.BigEndian.Uint32(header[:])
	if int64(length) > int64(limit) {
		return Frame{}, ErrFrameTooLarge
	}
	f := Frame{Kind: FrameKind(header[frameHeader-1]), Payload: make([]byte, length)}
	_, err := io.ReadFull(r, f.Payload)
	return f, err
}

// Expect reads a frame that can only be of one kind.
func Expect(r io.Reader, kind FrameKind, limit int) ([]byte, error) {
	f, err := Read(r, limit)
	if err != nil {
		return nil, err
	}
	if f.Kind != kind {
		return nil, fmt.Errorf("got a frame of kind %d, want %d", f.Kind, kind)
	}
	return f.Payload, nil
}
