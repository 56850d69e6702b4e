package render

import (
	"encoding/binary"
	"errors"
	"io"
)

// The manager and a worker exchange frames: four bytes of length, big-endian, and that much
// JSON. One request is answered by one reply, in order.

// task is the content of a request frame.
type task struct {
	Sources []Source `json:"sources"`
	Cluster Cluster  `json:"cluster"`
	// OutputLimit in bytes.
	OutputLimit int `json:"outputLimit"`
}

// reply is the content of a reply frame: Objects, or what went wrong.
type reply struct {
	Objects []map[string]any `json:"objects,omitempty"`
	Failure *Error           `json:"failure,omitempty"`
}

var errFrameTooLarge = errors.New("frame is too large")

func writeFrame(w io.Writer, payload []byte) error {
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(payload)), uint32(len(payload)))
	_, err := w.Write(append(frame, payload...))
	return err
}

// readFrame returns io.EOF if the other side closed the pipe between frames, and
// errFrameTooLarge, before reading the payload, if it has more than limit bytes.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var header [4]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(header[:])
	if int64(length) > int64(limit) {
		return nil, errFrameTooLarge
	}
	payload := make([]byte, length)
	_, err := io.ReadFull(r, payload)
	return payload, err
}
