package schedule

import (
	"time"

	"github.com/robfig/cron/v3"
)

// farthestZone is more than any clock is ahead of UTC, or behind it.
const farthestZone = 26 * time.Hour

// Recurrence is the times of a cron expression in a time zone. The zero value has none; use Parse.
type Recurrence struct {
	// times are taken as readings of a clock, and the clock as one that is never set: what becomes of a
	// reading in a time zone is for instant to say.
	times *cron.SpecSchedule
	zone  *time.Location
}

// After returns the first time after t; false if there is none in five years.
func (r Recurrence) After(t time.Time) (time.Time, bool) {
	for reading := r.reading(t); ; {
		reading = r.times.Next(reading)
		if reading.IsZero() {
			return time.Time{}, false
		}
		// A clock that was set back shows readings again whose time is over.
		if comes := r.instant(reading); comes.After(t) {
			return comes, true
		}
	}
}

// Latest returns the last time that comes after one and not after another; false if there is none.
func (r Recurrence) Latest(after, until time.Time) (time.Time, bool) {
	at, found := r.After(after)
	if !found || at.After(until) {
		return time.Time{}, false
	}
	// What came before the last day need not be gone through if something came in it.
	if day := until.Add(-24 * time.Hour); day.After(at) {
		if later, found := r.After(day); found && !later.After(until) {
			at = later
		}
	}
	for {
		next, found := r.After(at)
		if !found || next.After(until) {
			return at, true
		}
		at = next
	}
}

// Exceeds is whether it comes more often than a count within a span that follows a time.
func (r Recurrence) Exceeds(count int, from time.Time, span time.Duration) bool {
	for at := from; count >= 0; count-- {
		next, ok := r.After(at)
		if !ok || next.After(from.Add(span)) {
			return false
		}
		at = next
	}
	return true
}

// reading returns what the clock shows at t, as if it showed UTC.
func (r Recurrence) reading(t time.Time) time.Time {
	local := t.In(r.zone)
	return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), time.UTC)
}

// instant returns when the clock first shows a reading, or a later one if it jumps over it.
func (r Recurrence) instant(reading time.Time) time.Time {
	from := reading.Add(-farthestZone).In(r.zone)
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
