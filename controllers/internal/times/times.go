// Package times compares times. A zero one is never, as among those at which a reconcile asks for another look.
package times

import "time"

// Earliest returns the earlier of two times, the other one if one is zero, and zero if both are.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Latest returns the later of two times.
func Latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Sooner returns the shorter of two times to wait. Zero stands for none at all.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
