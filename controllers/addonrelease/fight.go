package addonrelease

import "time"

const (
	// patience is how many corrections of one object in a row are made at once. Somebody who tries a
	// few times is put right in milliseconds; a program that insists is not answered at its own speed.
	patience = 5
	// truce is how long an object must be left alone for its count to start anew.
	truce = 10 * time.Minute
	// longestWait between two corrections of one object.
	longestWait = 5 * time.Minute
)

// fight counts the corrections of one object that somebody keeps changing.
type fight struct {
	rounds  int
	last    time.Time
	manager string
}

// ready is when the next correction may be made; it may be in the past.
func (f fight) ready() time.Time {
	if f.rounds < patience {
		return f.last
	}
	wait := longestWait
	if doublings := f.rounds - patience; doublings < 10 {
		wait = min(time.Second<<doublings, longestWait)
	}
	return f.last.Add(wait)
}

// after is the count after one more correction.
func (f fight) after(now time.Time, manager string) fight {
	if now.Sub(f.last) > max(truce, 2*f.ready().Sub(f.last)) {
		f.rounds = 0
	}
	return fight{rounds: f.rounds + 1, last: now, manager: manager}
}
