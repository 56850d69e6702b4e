package maintenance

import (
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

const (
	// farthest is how far ahead the end of a span is looked for. Windows may follow each other for ever.
	farthest = 31 * 24 * time.Hour
	// mostJoined bounds the windows that are joined to one span: somebody may write a window of a minute
	// for every minute.
	mostJoined = 1000
)

// Calendar is a set of windows. The zero value has none.
type Calendar struct {
	windows []window
}

// Empty tells that no windows are set, which leaves any time.
func (c Calendar) Empty() bool { return len(c.windows) == 0 }

// At tells whether something may be done now, and until when. The time is zero if it is closed, and if it
// does not end because no windows are set. The end of a span that is longer than 31 days, or made of more
// than 1000 windows, is not looked for: until is then how far it looked, and the time to ask again.
func (c Calendar) At(now time.Time) (open bool, until time.Time) {
	if c.Empty() {
		return true, time.Time{}
	}
	until = c.openUntil(now)
	if !until.After(now) {
		return false, time.Time{}
	}
	until, _ = c.join(now, until)
	return true, until
}

// Opened returns when the span that is open now began; now if none is. It looks no farther back than At looks ahead.
func (c Calendar) Opened(now time.Time) time.Time {
	since := now
	for range mostJoined {
		earlier := since
		for _, w := range c.windows {
			// A window that closes as the span begins belongs to it.
			before := since.Add(-w.duration)
			if since.Before(now) {
				before = before.Add(-time.Nanosecond)
			}
			if opens, ok := w.opens.After(before); ok && opens.Before(earlier) {
				earlier = opens
			}
		}
		if earlier.Equal(since) {
			break
		}
		if since = earlier; now.Sub(since) > farthest {
			return now.Add(-farthest)
		}
	}
	return since
}

// Next returns the next span that opens after now; one that is open already is not meant. The end is like
// that of At. It returns false if there is none: no windows are set, or they stay open for as long as
// At looks ahead.
func (c Calendar) Next(now time.Time) (start, end time.Time, ok bool) {
	closed, whole := c.join(now, c.openUntil(now))
	if !whole {
		return time.Time{}, time.Time{}, false
	}
	for _, w := range c.windows {
		if opens, ok := w.opens.After(closed); ok && (start.IsZero() || opens.Before(start)) {
			start = opens
		}
	}
	if start.IsZero() {
		return time.Time{}, time.Time{}, false
	}
	end, _ = c.join(start, c.openUntil(start))
	return start, end, true
}

// openUntil returns until when the windows that are open now stay so, by themselves; now if none is.
func (c Calendar) openUntil(now time.Time) time.Time {
	until := now
	for _, w := range c.windows {
		if opens, ok := w.opens.After(now.Add(-w.duration)); ok && !opens.After(now) {
			until = times.Latest(until, opens.Add(w.duration))
		}
	}
	return until
}

// join adds to a span the windows that open before it ends, or as it ends. It returns false if it gave up
// before it found the end.
func (c Calendar) join(from, until time.Time) (time.Time, bool) {
	if until.Equal(from) {
		return until, true
	}
	for range mostJoined {
		longer := until
		for _, w := range c.windows {
			if opens, ok := w.opensLate(longer); ok {
				longer = times.Latest(longer, opens.Add(w.duration))
			}
		}
		if longer.Equal(until) {
			return until, true
		}
		if longer.Sub(from) > farthest {
			return from.Add(farthest), false
		}
		until = longer
	}
	return until, false
}
