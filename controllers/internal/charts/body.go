package charts

import (
	"errors"
	"io"
)

// errTooLong means that a body has more bytes than are taken.
var errTooLong = errors.New("too long")

// capped passes limit bytes on and then fails with errTooLong if there is another one, whatever
// length the server had announced.
func capped(body io.Reader, limit int64) io.Reader { return &cappedReader{body: body, left: limit} }

type cappedReader struct {
	body io.Reader
	left int64 // negative: one byte too many was there
}

func (r *cappedReader) Read(p []byte) (int, error) {
	if r.left < 0 {
		return 0, errTooLong
	}
	if int64(len(p)) > r.left+1 {
		p = p[:r.left+1]
	}
	n, err := r.body.Read(p)
	r.left -= int64(n)
	if r.left < 0 {
		return n - 1, errTooLong
	}
	return n, err
}
