package fleet

// largeRead is how much of an object, or of an answer that is read as a whole, may be in memory without a turn, in bytes.
// Of the objects of a cluster few are larger.
const largeRead = 64 << 10

// turn belongs to one reader of something large at a time: otherwise a cluster takes as many times the largest object as
// it has watches. A reader keeps it no longer than the deadline of a request or of an event.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// share is one reader's part in a turn. It is used by one goroutine.
type share struct {
	turn turn
	held bool
}

// take waits for the turn, unless the reader has it already; false if done ends first.
func (s *share) take(done <-chan struct{}) bool {
	if s.held {
		return true
	}
	select {
	case s.turn <- struct{}{}:
		s.held = true
	case <-done:
	}
	return s.held
}

// give gives the turn back, if the reader has it.
func (s *share) give() {
	if s.held {
		s.held = false
		<-s.turn
	}
}
