package starts

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/maintenance"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

const (
	// maxBlackouts is how many blackouts are looked at for a start beyond them: a year of daily ones, and some more.
	maxBlackouts = 400
	// longOpen is nearly as far as a calendar looks: where windows follow each other for ever, the edges that it tells of move
	// with the clock, and are told to the day.
	longOpen = 30 * 24 * time.Hour
)

// Blackouts are the windows in which no backup starts by schedule.
type Blackouts struct{ calendar maintenance.Calendar }

// Blackout is what holds at one time.
type Blackout struct {
	// Open: no backup starts.
	Open bool
	// Since when, and until when it is open; zero if none is.
	Since, Until time.Time
	// Next is when one opens, if none is open; zero for never.
	Next time.Time
}

// BlackoutsOf an enrollment. Windows that cannot be read stall the policy.
func BlackoutsOf(enrollment *backupv1alpha1.BackupEnrollment) Blackouts {
	calendar, err := maintenance.Parse("spec.schedule.blackouts", enrollment.Spec.Schedule.Blackouts)
	if err != nil {
		return Blackouts{}
	}
	return Blackouts{calendar}
}

// At a time.
func (b Blackouts) At(now time.Time) Blackout {
	if b.calendar.Empty() {
		return Blackout{}
	}
	if open, until := b.calendar.At(now); open {
		return Blackout{Open: true, Since: b.calendar.Opened(now), Until: until}
	}
	next, _, _ := b.calendar.Next(now)
	return Blackout{Next: next}
}

// NextStart returns the first start after a time that no blackout is open at; false if none is found. A blackout is over as it
// closes, so a start at that time is made.
func (b Blackouts) NextStart(starts schedule.Recurrence, after time.Time) (time.Time, bool) {
	for range maxBlackouts {
		at, ok := starts.After(after)
		if !ok {
			return time.Time{}, false
		}
		in := b.At(at)
		if !in.Open {
			return at, true
		}
		after = in.Until.Add(-time.Nanosecond)
	}
	return time.Time{}, false
}

// ChangesAt is when a blackout opens or closes; zero for never.
func (b Blackout) ChangesAt() time.Time {
	if b.Open {
		return b.Until
	}
	return b.Next
}

// String says from when to when it is open.
func (b Blackout) String() string {
	since, until := b.Since, b.Until
	if until.Sub(since) > longOpen {
		since, until = since.Truncate(24*time.Hour), until.Truncate(24*time.Hour)
	}
	return fmt.Sprintf("since %s, until %s", since.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339))
}

// SkippedUntil is up to when Velero does not make up for starts. Once a Schedule is not paused any more, Velero makes the
// last start that it did not, unless it was skipped.
func (b Blackout) SkippedUntil(was *backupv1alpha1.VeleroObjects, now time.Time) *metav1.Time {
	switch {
	case b.Open:
		at := metav1.NewTime(b.Until.Add(-time.Second)).Rfc3339Copy()
		return &at
	case was == nil || was.SkippedUntil == nil:
		return nil
	case was.SkippedUntil.After(now): // It ended before its time: somebody changed the policy.
		at := metav1.NewTime(now).Rfc3339Copy()
		return &at
	}
	return was.SkippedUntil
}
