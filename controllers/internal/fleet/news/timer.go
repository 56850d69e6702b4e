package news

import (
	"sync"
	"time"
)

// Timer decides when the news of a kind are too old: when neither a list nor a watch worked for longer than
// its patience. Until then a failure is not told, since most pass.
type Timer struct {
	patience time.Duration
	// tell is called with the reason when the kind becomes unknown or the reason changes, and with "" when it is
	// known again.
	tell func(reason string)

	mu     sync.Mutex
	timer  *time.Timer
	reason string
	told   bool
	done   bool
}

// NewTimer returns one that tells nothing before something fails. Tell is called with the timer locked, and must not block.
func NewTimer(patience time.Duration, tell func(reason string)) *Timer {
	return &Timer{patience: patience, tell: tell}
}

// Failing starts the timer, unless it runs already.
func (n *Timer) Failing(reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.done = false
	changed := n.reason != reason
	n.reason = reason
	switch {
	case n.told && changed:
		n.tell(reason)
	case n.timer == nil:
		n.timer = time.AfterFunc(n.patience, n.expire)
	}
}

func (n *Timer) expire() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.timer != nil && !n.done {
		n.told = true
		n.tell(n.reason)
	}
}

// Current tells that the kind is watched.
func (n *Timer) Current() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reset()
	if n.told {
		n.told = false
		n.tell("")
	}
}

// Stop ends the timer, and tells nothing any more.
func (n *Timer) Stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reset()
	n.told, n.done = false, true
}

func (n *Timer) reset() {
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
	n.reason = ""
}
