package schedule

import "time"

// aLeapCycle has all dates there are.
const aLeapCycle = 4*365*24*time.Hour + 24*time.Hour

// LongestInterval returns the longest time between two that follow one another, on a clock that is never set. It is at most
// four years and a day.
func (r Recurrence) LongestInterval() time.Duration {
	first := r.times.Next(leapYear)
	longest, last := r.withinDay(first)
	for at := first; at.Before(leapYear.Add(aLeapCycle)); {
		// Times of day are the same on all days that have any.
		next := r.times.Next(at.Add(last))
		if next.IsZero() {
			break
		}
		longest = max(longest, next.Sub(at)-last)
		at = next
	}
	return longest
}

// withinDay returns the longest time between two on the day of its first one, and how long after that the last one comes.
func (r Recurrence) withinDay(first time.Time) (longest, last time.Duration) {
	end := first.Truncate(24 * time.Hour).Add(24 * time.Hour)
	for at := first; ; {
		next := r.times.Next(at)
		if next.IsZero() || !next.Before(end) {
			return longest, at.Sub(first)
		}
		longest, at = max(longest, next.Sub(at)), next
	}
}

// Span returns how long it takes until it has come so many times again after its first one in a leap year, on a clock that is
// never set. A recurrence that comes too seldom for that has the longest span there is.
func (r Recurrence) Span(count int) time.Duration {
	const longest = time.Duration(1<<63 - 1)
	first := r.times.Next(leapYear)
	at := first
	for range count {
		if at = r.times.Next(at); at.IsZero() {
			return longest
		}
	}
	return at.Sub(first)
}
