package backuppolicy

import (
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

const (
	day = 24 * time.Hour
	// minVeleroTTL leaves people a month to mend what makes backups fail before Velero deletes the last good one.
	minVeleroTTL = 30 * day
	// maxVeleroTTL is ten years.
	maxVeleroTTL = 3650 * day
)

// veleroTTL is how long Velero keeps a backup by itself. Velero knows a time for each backup, and no keepLast: so Daytwo
// deletes what has expired, and Velero only what is left where Daytwo is not there to do it. It is
//
//	2 x max(ttl, (keepLast + 1) x the longest interval between starts)
//
// at least 30 days, at most ten years, and at most the time of 400 starts, so that a cluster without Daytwo does not fill up.
// It is never less than ttl, nor than two of the longest intervals: the last good backup outlasts a weekend without starts.
func veleroTTL(starts schedule.Recurrence, ttl time.Duration, keepLast int32) time.Duration {
	longest := starts.LongestInterval()
	// Bounded before it is multiplied: years times a hundred are more than a Duration has.
	needed := max(min(ttl, maxVeleroTTL), min(longest, maxVeleroTTL/time.Duration(keepLast+1))*time.Duration(keepLast+1))
	return max(ttl, min(2*longest, maxVeleroTTL), min(max(2*needed, minVeleroTTL), starts.Span(maxKept), maxVeleroTTL))
}
