package bounded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/daytwo-dev/daytwo/controllers/internal/untrusted"
)

const (
	// readSize and maxReadSize are how much is read at a time, in bytes; keptBuffer is how large a buffer stays when a value
	// is done with.
	readSize    = 4 << 10
	maxReadSize = 64 << 10
	keptBuffer  = 32 << 10
	whitespace  = " \t\r\n"
)

// values reads JSON value by value. No more of it is in memory than the largest value, and that only once:
// json.Decoder needs three times as much. It finds where values end; their syntax is the part of who decodes them.
type values struct {
	body io.Reader
	// what a value is, for errors.
	what  string
	limit SizeLimit
	// most bytes of all values, and the error of more; no limit if it is zero.
	most    int
	tooMuch error
	// wait is called before more than largeRead bytes of a value are held.
	wait func() error

	// buffer holds what was read; its first taken bytes are done with.
	buffer []byte
	taken  int
	total  int
}

// peek returns the next byte that is no white space, and does not take it.
func (v *values) peek() (byte, error) {
	for {
		rest := v.buffer[v.taken:]
		if trimmed := bytes.TrimLeft(rest, whitespace); len(trimmed) > 0 {
			v.taken += len(rest) - len(trimmed)
			return trimmed[0], nil
		}
		v.taken = len(v.buffer)
		if err := v.fill(); err != nil {
			return 0, err
		}
	}
}

// next returns the next value, which is valid until the next call.
func (v *values) next() ([]byte, error) {
	first, err := v.peek()
	if err != nil {
		return nil, err
	}
	var size untrusted.JSONSize
	end := size.Scan
	if strings.IndexByte(`{["`, first) < 0 {
		end = endOfWord
	}
	for scanned := 0; ; {
		count, ended := end(v.buffer[v.taken+scanned:])
		scanned += count
		if scanned > v.limit.Bytes || size.Values > v.limit.Values {
			return nil, &LimitError{v.what, v.limit}
		}
		if ended {
			value := v.buffer[v.taken : v.taken+scanned]
			v.taken += scanned
			return value, nil
		}
		if scanned > largeRead {
			if err := v.wait(); err != nil {
				return nil, err
			}
		}
		if err := v.fill(); err != nil {
			return nil, unexpected(err)
		}
	}
}

// endOfWord finds the end of a number, true, false or null.
func endOfWord(data []byte) (int, bool) {
	if i := bytes.IndexAny(data, ",:]}"+whitespace); i >= 0 {
		return i, true
	}
	return len(data), false
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// drop lets go of the buffer, if that is a large one of which little is needed.
func (v *values) drop() {
	if rest := v.buffer[v.taken:]; cap(v.buffer) > max(keptBuffer, 2*len(rest)) {
		v.buffer, v.taken = bytes.Clone(rest), 0
	}
}

// fill reads more, in the place of what is done with.
func (v *values) fill() error {
	v.buffer = slices.Grow(append(v.buffer[:0], v.buffer[v.taken:]...), readSize)
	v.taken = 0
	n, err := v.body.Read(v.buffer[len(v.buffer):min(cap(v.buffer), len(v.buffer)+maxReadSize)])
	v.buffer = v.buffer[:len(v.buffer)+n]
	if v.total += n; v.most > 0 && v.total > v.most {
		return v.tooMuch
	}
	if n > 0 {
		return nil
	}
	return err
}

// expect takes one byte.
func (v *values) expect(want byte) error {
	got, err := v.peek()
	if err != nil {
		return unexpected(err)
	}
	if got != want {
		return fmt.Errorf("there is %q instead of %q", got, want)
	}
	v.taken++
	return nil
}

// members calls each for every member of the object that comes next; it must take the value.
func (v *values) members(each func(name string) error) error {
	return v.sequence('{', '}', func() error {
		raw, err := v.next()
		if err != nil {
			return err
		}
		var name string
		if err := json.Unmarshal(raw, &name); err != nil {
			return fmt.Errorf("the name of a member: %w", err)
		}
		if err := v.expect(':'); err != nil {
			return err
		}
		return each(name)
	})
}

// elements calls each for every element of the array that comes next, and returns how many they are. The array may be
// null.
func (v *values) elements(each func(raw []byte) error) (int, error) {
	first, err := v.peek()
	if err != nil {
		return 0, unexpected(err)
	}
	if first == 'n' {
		_, err := v.next()
		return 0, err
	}
	count := 0
	err = v.sequence('[', ']', func() error {
		raw, err := v.next()
		if err != nil {
			return err
		}
		count++
		return each(raw)
	})
	return count, err
}

func (v *values) sequence(open, end byte, each func() error) error {
	if err := v.expect(open); err != nil {
		return err
	}
	for first := true; ; first = false {
		next, err := v.peek()
		if err != nil {
			return unexpected(err)
		}
		if next == end {
			v.taken++
			return nil
		}
		if !first {
			if err := v.expect(','); err != nil {
				return err
			}
		}
		if err := each(); err != nil {
			return err
		}
	}
}
