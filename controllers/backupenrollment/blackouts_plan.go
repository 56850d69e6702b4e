package backupenrollment

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

// blackouts are the windows in which no backup starts by schedule.
type blackouts struct{ calendar maintenance.Calendar }

// blackout is what holds at one time.
type blackout struct {
	// open: no backup starts.
	open bool
	// since when, and until when it is open; zero if none is.
	since, until time.Time
	// next is when one opens, if none is open; zero for never.
	next time.Time
}

// blackoutsOf an enrollment. Windows that cannot be read stall the policy.
func blackoutsOf(enrollment *backupv1alpha1.BackupEnrollment) blackouts {
	calendar, err := maintenance.Parse("spec.schedule.blackouts", enrollment.Spec.Schedule.Blackouts)
	if err != nil {
		return blackouts{}
	}
	return blackouts{calendar}
}

// at a time.
func (b blackouts) at(now time.Time) blackout {
	if b.calendar.Empty() {
		return blackout{}
	}
	if open, until := b.calendar.At(now); open {
		return blackout{open: true, since: b.calendar.Opened(now), until: until}
	}
	next, _, _ := b.calendar.Next(now)
	return blackout{next: next}
}

// nextStart returns the first start after a time that no blackout is open at; false if none is found. A blackout is over as it
// closes, so a start at that time is made.
func (b blackouts) nextStart(starts schedule.Recurrence, after time.Time) (time.Time, bool) {
	for range maxBlackouts {
		at, ok := starts.After(after)
		if !ok {
			return time.Time{}, false
		}
		in := b.at(at)
		if !in.open {
			return at, true
		}
		after = in.until.Add(-time.Nanosecond)
	}
	return time.Time{}, false
}

// changesAt is when a blackout opens or closes; zero for never.
func (b blackout) changesAt() time.Time {
	if b.open {
		return b.until
	}
	return b.next
}

// String says from when to when it is open.
func (b blackout) String() string {
	since, until := b.since, b.until
	if until.Sub(since) > longOpen {
		since, until = since.Truncate(24*time.Hour), until.Truncate(24*time.Hour)
	}
	return fmt.Sprintf("since %s, until %s", since.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339))
}

// skippedUntil is up to when Velero does not make up for starts. Once a Schedule is not paused any more, Velero makes the
// last start that it did not, unless it was skipped.
func (b blackout) skippedUntil(was *backupv1alpha1.VeleroObjects, now time.Time) *metav1.Time {
	switch {
	case b.open:
		at := metav1.NewTime(b.until.Add(-time.Second)).Rfc3339Copy()
		return &at
	case was == nil || was.SkippedUntil == nil:
		return nil
	case was.SkippedUntil.After(now): // It ended before its time: somebody changed the policy.
		at := metav1.NewTime(now).Rfc3339Copy()
		return &at
	}
	return was.SkippedUntil
}
