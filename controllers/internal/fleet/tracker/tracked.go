package tracker

import (
	"slices"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// drifted: there is an expectation, and an observation that is no older and not the same.
func (e *tracked) drifted() bool {
	if e.seen == nil || e.expected.Fingerprint == "" || e.older() {
		return false
	}
	return e.seen.Gone || e.seen.Fingerprint != e.expected.Fingerprint
}

// trying: the owner has yet to succeed with an apply.
func (e *tracked) trying() bool { return e.inFlight > 0 || e.failed }

// older: the observation is from before our last apply.
func (e *tracked) older() bool { return IsOlder(e.seen.ResourceVersion, e.expected.ResourceVersion) }

// take keeps an observation and says whether the owner should hear of it.
func (e *tracked) take(seen Seen) (tell, drifted bool) {
	healthChanged := e.seen == nil || e.seen.Health != seen.Health || e.seen.Gone != seen.Gone ||
		!slices.Equal(e.seen.Tolerated, seen.Tolerated)
	if e.seen == nil && seen.Gone && e.expected.Fingerprint == "" {
		healthChanged = false
	}
	e.seen, e.missed = &seen, false
	if e.inFlight > 0 {
		return false, false
	}
	drifted = e.drifted()
	if !drifted {
		seen.Object = nil
		e.seen = &seen
	}
	return drifted || healthChanged, drifted
}

// ObserveFirst takes an observation of an object that has none. The owner, who asked for it, is not notified.
func (t *Tracker) ObserveFirst(key objects.Key, seen Seen) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if entry := t.objects[key]; entry != nil && entry.seen == nil {
		entry.take(seen)
	}
}
