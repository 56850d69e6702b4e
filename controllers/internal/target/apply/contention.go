package apply

import "time"

const (
	// Unhindered is how many corrections of one object in a row are made at once. Somebody who tries a
	// few times is put right in milliseconds; a program that insists is not answered at its own speed.
	Unhindered = 5
	// resetAfter is how long an object must be left alone for its count to start anew.
	resetAfter = 10 * time.Minute
	// LongestWait between two corrections of one object.
	LongestWait = 5 * time.Minute
)

// Contention counts the corrections of one object that somebody keeps changing.
type Contention struct {
	Count   int
	Last    time.Time
	Manager string
}

// Ready is when the next correction may be made; it may be in the past.
func (f Contention) Ready() time.Time {
	if f.Count < Unhindered {
		return f.Last
	}
	wait := LongestWait
	if doublings := f.Count - Unhindered; doublings < 10 {
		wait = min(time.Second<<doublings, LongestWait)
	}
	return f.Last.Add(wait)
}

// After is the count after one more correction.
func (f Contention) After(now time.Time, manager string) Contention {
	if now.Sub(f.Last) > max(resetAfter, 2*f.Ready().Sub(f.Last)) {
		f.Count = 0
	}
	return Contention{Count: f.Count + 1, Last: now, Manager: manager}
}
