package bounded

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// largeRead is how much of an object, or of an answer that is read as a whole, may be in memory without a turn, in bytes.
// Of the objects of a cluster few are larger.
const largeRead = 64 << 10

// A cluster whose answer exceeded a limit sends no other large one for firstPause, and twice as long each further time,
// up to maxPause. After pardonAfter without one it begins anew. API servers that are sound send none: etcd takes no such
// objects. Otherwise a hostile server would have the largest answer in memory at any time.
const (
	firstPause  = 5 * time.Second
	maxPause    = time.Minute
	pardonAfter = 10 * time.Minute
)

var errNoTurn = errors.New("the time was over before other large answers were read")

// Turn belongs to one reader of something large at a time: otherwise a cluster takes as many times the largest object as
// it has watches. A reader keeps it no longer than the deadline of a request or of an event.
type Turn struct {
	slot  chan struct{}
	clock clock.PassiveClock

	mu     sync.Mutex
	pause  time.Duration
	paused time.Time
}

func newTurn(clock clock.PassiveClock) *Turn {
	return &Turn{slot: make(chan struct{}, 1), clock: clock}
}

// exceeded notes that an answer exceeded its limit.
func (t *Turn) exceeded() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	if now.Sub(t.paused) > pardonAfter {
		t.pause = 0
	}
	t.pause = min(max(firstPause, 2*t.pause), maxPause)
	t.paused = now
}

// isPaused returns an error while no large answer is read.
func (t *Turn) isPaused() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if left := t.pause - t.clock.Since(t.paused); left > 0 {
		return fmt.Errorf("an answer of the cluster was larger than is read of one, so none of more than %d KiB is read for %s; "+
			"look at what answers at the cluster's address", largeRead>>10, t.pause)
	}
	return nil
}

// Share is one reader's part in a turn. It is used by one goroutine.
type Share struct {
	// Turn that it is a part in.
	Turn *Turn
	held bool
}

// Take waits for the turn, unless the reader has it already. It fails if done ends first, and at once while the cluster is
// paused.
func (s *Share) Take(done <-chan struct{}) error {
	if s.held {
		return nil
	}
	if err := s.Turn.isPaused(); err != nil {
		return err
	}
	select {
	case s.Turn.slot <- struct{}{}:
		s.held = true
	case <-done:
		return errNoTurn
	}
	return nil
}

// Give gives the turn back, if the reader has it.
func (s *Share) Give() {
	if s.held {
		s.held = false
		<-s.Turn.slot
	}
}

// end gives the turn back, and notes if what was read exceeded its limit.
func (s *Share) end(err error) {
	if limit := (*LimitError)(nil); errors.As(err, &limit) {
		s.Turn.exceeded()
	}
	s.Give()
}
