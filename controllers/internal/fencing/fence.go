package fencing

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// ErrNotLeader is why a write was refused.
var ErrNotLeader = errors.New("this manager does not hold the lease of the leader election, or may have lost it; the write was not sent")

// margin is the part of a lease's duration, one of so many, that is left unused: another manager's clock may
// run faster than ours.
const margin = 10

// Fence says whether this process surely holds the lease. A nil Fence is that of a manager that runs
// without leader election: it always holds. Safe for concurrent use.
type Fence struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// term is the one term in which this process led; nil before that.
	term *term
	// renewed is when the last successful renewal was sent, and validFor how long it protects from others.
	renewed  time.Time
	validFor time.Duration
}

// New returns a Fence that does not hold before its Lock was acquired.
func New(clock clock.PassiveClock) *Fence { return &Fence{clock: clock} }

// Check returns ErrNotLeader, unless this process holds the lease.
func (f *Fence) Check() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.term == nil || f.lapsedLocked() {
		return ErrNotLeader
	}
	return nil
}

// checkLapsed returns ErrNotLeader if this process led once and does not any more.
func (f *Fence) checkLapsed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.term != nil && f.lapsedLocked() {
		return ErrNotLeader
	}
	return nil
}

// lapsedLocked compares both clocks: the monotonic one stands still while the machine is suspended, the
// wall clock may be set back.
func (f *Fence) lapsedLocked() bool {
	now := f.clock.Now()
	return now.Sub(f.renewed) >= f.validFor || now.Round(0).Sub(f.renewed.Round(0)) >= f.validFor
}

// hold notes that a renewal succeeded.
func (f *Fence) hold(in term, sent time.Time, lease time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.term, f.renewed, f.validFor = &in, sent, lease-lease/margin
}

// release ends the protection for good.
func (f *Fence) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.validFor = 0
}

// admits returns an error for another term than the one in which this process led: there may have been
// another leader in between, and nothing in this process's memory is certain any more.
func (f *Fence) admits(next term) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.term != nil && *f.term != next {
		return fmt.Errorf("this manager led before and may not lead again: %w", ErrNotLeader)
	}
	return nil
}
