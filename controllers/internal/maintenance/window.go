package maintenance

import (
	"time"

	"github.com/robfig/cron/v3"
)

// farthestZone is more than any clock is ahead of UTC, or behind it.
const farthestZone = 26 * time.Hour

// window is one that recurs.
type window struct {
	// times are taken as readings of a clock, and the clock as one that is never set: what becomes of a
	// reading in a time zone is for instant to say.
	times    cron.Schedule
	duration time.Duration
	zone     *time.Location
}

// opensAfter returns the first time after t at which the window opens; false if there is none in years.
func (w window) opensAfter(t time.Time) (time.Time, bool) {
	for reading := w.reading(t); ; {
		reading = w.times.Next(reading)
		if reading.IsZero() {
			return time.Time{}, false
		}
		// A clock that was set back shows readings again whose time is over.
		if opens := w.instant(reading); opens.After(t) {
			return opens, true
		}
	}
}

// opensLate returns a time up to t at which the window opens, and from which it is open beyond t; false if
// there is none. The last such time would be best, so it looks at what is near first.
func (w window) opensLate(t time.Time) (time.Time, bool) {
	for back := time.Minute; ; back *= 2 {
		back = min(back, w.duration)
		if opens, ok := w.opensAfter(t.Add(-back)); ok && !opens.After(t) {
			return opens, true
		}
		if back == w.duration {
			return time.Time{}, false
		}
	}
}

// reading returns what the window's clock shows at t, as if it showed UTC.
func (w window) reading(t time.Time) time.Time {
	local := t.In(w.zone)
	return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), time.UTC)
}

// instant returns when the window's clock first shows a reading, or a later one if it jumps over it.
func (w window) instant(reading time.Time) time.Time {
	from := reading.Add(-farthestZone).In(w.zone)
	for {
		_, offset := from.Zone()
		shown := reading.Add(-time.Duration(offset) * time.Second)
		if shown.Before(from) {
			return from.UTC() // The clock jumped over it.
		}
		_, set := from.ZoneBounds()
		if set.IsZero() || shown.Before(set) {
			return shown
		}
		from = set
	}
}
