package backupenrollment

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
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
	// open since when, and until when.
	open         bool
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

// pause adds to a Schedule what a blackout asks for.
func pause(declared *unstructured.Unstructured, arranged *backupv1alpha1.VeleroObjects) {
	if arranged.Paused {
		declared.Object["spec"].(map[string]any)["paused"] = true
	}
	if arranged.SkippedUntil != nil {
		declared.Object["status"] = map[string]any{"lastSkipped": arranged.SkippedUntil.UTC().Format(time.RFC3339)}
	}
}

// needsPause is whether the Schedule is not as the blackouts ask for.
func needsPause(o *observation) bool {
	now := blackoutsOf(o.Target).at(o.Now)
	if now.open != isPaused(o) {
		return true
	}
	skipped := o.Status.Velero.SkippedUntil
	return now.open && (skipped == nil || skipped.Time.Before(o.Now))
}

// isPaused is whether the Schedule is paused: as the cluster shows it, or as it was seen last.
func isPaused(o *observation) bool {
	if velero := o.Extra.velero; velero != nil && velero.schedule != nil && o.IsReachable() {
		paused, _, _ := unstructured.NestedBool(velero.schedule.Object, "spec", "paused")
		return paused
	}
	return o.Status.Velero != nil && o.Status.Velero.Paused
}

// blackoutFinding is no reason for an enrollment not to be Ready. It is empty if no blackout ever comes.
func blackoutFinding(o *observation) finding {
	now, paused := blackoutsOf(o.Target).at(o.Now), isPaused(o)
	f := finding{kind: backupv1alpha1.ConditionInBlackout, status: metav1.ConditionUnknown, due: now.changesAt()}
	switch why := whyNotWritten(o); {
	case now.open && paused:
		f.status, f.reason, f.message = metav1.ConditionTrue, backupv1alpha1.ReasonBlackoutOpen, now.String()
	case now.open && why == "":
		f.reason, f.message = metav1alpha1.ReasonProgressing, fmt.Sprintf("a blackout is open (%s), and the Schedule is about to be paused", now)
	case now.open:
		f.reason, f.message = backupv1alpha1.ReasonBlackoutNotSet, fmt.Sprintf("a blackout is open (%s), and could not be set: %s", now, why)
	case paused && why == "":
		f.reason, f.message = metav1alpha1.ReasonProgressing, "the blackout has ended, and the Schedule is about to be resumed"
	case paused:
		f.reason, f.message = backupv1alpha1.ReasonBlackoutNotLifted, "the blackout has ended, and the Schedule is still paused: "+why
	case now.next.IsZero():
		return finding{}
	default:
		f.status, f.reason = metav1.ConditionFalse, backupv1alpha1.ReasonNoBlackout
		f.message = "the next blackout opens at " + now.next.UTC().Format(time.RFC3339)
	}
	return f
}

// tellBlackout tells of the blackouts, also while the cluster does not answer.
func tellBlackout(o *observation, status *backupv1alpha1.BackupEnrollmentStatus) {
	if status.Velero != nil {
		status.Velero.Paused = isPaused(o)
	}
	f := blackoutFinding(o)
	list := conditions.List{Conditions: &status.Conditions, Generation: o.Target.Generation, Now: o.Now}
	if f.kind == "" {
		list.Remove(backupv1alpha1.ConditionInBlackout)
		return
	}
	list.Set(f.kind, f.status, f.reason, f.message)
}

// whyNotWritten is why nothing is written to the cluster now; empty if nothing is in the way.
func whyNotWritten(o *observation) string {
	switch {
	case o.Unreachable != "":
		return o.Unreachable
	case o.Problem != nil:
		return o.Problem.Error()
	case o.Suspension.Active:
		return o.Suspension.String()
	}
	return ""
}
