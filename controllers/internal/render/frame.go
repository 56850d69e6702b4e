package render

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

// frameKind tells what a frame's payload is.
type frameKind byte

const (
	// frameReady is empty. A worker sends it once, when it can be used.
	frameReady frameKind = iota + 1
	// frameRequest holds a task as JSON.
	frameRequest
	// frameArchive holds a packaged chart, as it is.
	frameArchive
	// frameReply holds a reply as JSON.
	frameReply
	// frameLookup holds a lookupQuery as JSON.
	frameLookup
	// frameFound holds a lookupAnswer as JSON.
	frameFound
	// frameAgain is empty. The limit of time is to be measured anew.
	frameAgain
)

// frameHeader is the length of what is before the payload.
const frameHeader = 5

type frame struct {
	kind    frameKind
	payload []byte
}

var errFrameTooLarge = errors.New("frame is too large")

func writeFrame(w io.Writer, kind frameKind, payload []byte) error {
	header := binary.BigEndian.AppendUint32(make([]byte, 0, frameHeader), uint32(len(payload)))
	if _, err := w.Write(append(header, byte(kind))); err != nil {
		return err
	}
	_, err := w.Write(payload)
	return err
}

// readFrame returns io.EOF if the other side closed the pipe between frames, and
// errFrameTooLarge, before reading the payload, if it has more than limit bytes.
func readFrame(r io.Reader, limit int) (frame, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return frame{}, err
	}
	length := binary.BigEndian.Uint32(header[:])
	if int64(length) > int64(limit) {
		return frame{}, errFrameTooLarge
	}
	f := frame{kind: frameKind(header[frameHeader-1]), payload: make([]byte, length)}
	_, err := io.ReadFull(r, f.payload)
	return f, err
}

// expectFrame reads a frame that can only be of one kind.
func expectFrame(r io.Reader, kind frameKind, limit int) ([]byte, error) {
	f, err := readFrame(r, limit)
	if err != nil {
		return nil, err
	}
	if f.kind != kind {
		return nil, fmt.Errorf("got a frame of kind %d, want %d", f.kind, kind)
	}
	return f.payload, nil
}
