// Package earliest compares times of which a zero one is never, as those at which a reconcile asks for another look.
package earliest

import "time"

// Of returns the earlier of two times, the other one if one is zero, and zero if both are.
func Of(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
