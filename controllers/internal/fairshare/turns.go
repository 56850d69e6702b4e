package fairshare

import (
	"context"
	"sync"
)

// Turns has goroutines wait for a place. Any number of them may use it.
type Turns struct {
	mu        sync.Mutex
	scheduler *Scheduler[*turn]
}

// turn is one goroutine that waits for a place.
type turn struct{ came chan struct{} }

// NewTurns returns Turns for so many places.
func NewTurns(limits Limits) *Turns {
	return &Turns{scheduler: NewScheduler[*turn](limits)}
}

// Take waits for a place. Whoever got one calls release once, when they need it no longer. If ctx is done before, Take
// returns its cause, and no place is held.
func (t *Turns) Take(ctx context.Context, claim Claim) (release func(), err error) {
	own := &turn{came: make(chan struct{})}
	t.change(func() { t.scheduler.Add(own, claim) })
	release = func() { t.change(func() { t.scheduler.Done(own) }) }
	select {
	case <-own.came:
		return release, nil
	case <-ctx.Done():
		t.change(func() { t.scheduler.Remove(own) })
		release() // It may have come at the same moment.
		return nil, context.Cause(ctx)
	}
}

// change changes who waits or holds a place, and gives out what is free after that.
func (t *Turns) change(do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	do()
	for next, _, ok := t.scheduler.Next(); ok; next, _, ok = t.scheduler.Next() {
		close(next.came)
	}
}
