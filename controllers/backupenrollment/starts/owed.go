package starts

import (
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

const (
	// MissedAfter is how long after a start no backup of it means that it was missed. Velero looks at its Schedules once a
	// minute.
	MissedAfter = 5 * time.Minute
	// repeatedAfter is how long after the end of a backup that failed another one begins: what was in the way may pass, and
	// two that begin in one second cannot be told apart by their start.
	repeatedAfter = time.Minute
	// defaultDeadline is that of enrollments which their policy has not written since there is a deadline.
	defaultDeadline = 4 * time.Hour
)

// Situation is what decides whether a start is caught up.
type Situation struct {
	// Recurrence is when backups start.
	Recurrence schedule.Recurrence
	Blackouts  Blackouts
	// Since: starts up to then are not looked at. They are from before the schedule, or were caught up.
	Since time.Time
	// Deadline is how long after a start it may be caught up.
	Deadline time.Duration
	// DoneUntil: starts up to then are done with for Velero, whatever became of their backups. As soon as it can, Velero makes
	// the last one after that itself, however late.
	DoneUntil time.Time
	// Told is what the cluster shows of its backups.
	Told history.History
}

// Owed is a start that no good backup has followed.
type Owed struct {
	// At is when it was.
	At time.Time
	// Reason is why it is owed.
	Reason backupv1alpha1.CatchUpReason
	// Message says which backup failed, if one did.
	Message string
}

// Owed returns the start that is to be caught up now; nil for none. The time is when to ask again though nothing happens; zero
// for never.
func (s Situation) Owed(now time.Time) (*Owed, time.Time) {
	at, found := s.latest(now)
	switch {
	case !found || s.Blackouts.At(now).Open:
		return nil, time.Time{}
	case s.Told.Good != nil && !history.Begun(*s.Told.Good).Before(at):
		return nil, time.Time{}
	case s.Told.Unread != nil && !history.Begun(*s.Told.Unread).Before(at):
		return nil, time.Time{} // It may be a good one: who has read it asks again.
	case slices.ContainsFunc(s.Told.Runs, history.IsRunning) || s.DoneUntil.Before(at):
		return nil, time.Time{}
	}
	for _, run := range s.Told.Runs {
		if history.Begun(run).Before(at) {
			continue
		}
		if again := run.EndedAt.Add(repeatedAfter); now.Before(again) {
			return nil, again
		}
		return &Owed{at, backupv1alpha1.CatchUpFailed, fmt.Sprintf("backup %s (%s): %s", run.Name, run.Phase, run.Problem)}, time.Time{}
	}
	if missed := at.Add(MissedAfter); now.Before(missed) {
		return nil, missed
	}
	return &Owed{at, backupv1alpha1.CatchUpMissed, "there is no backup since then"}, time.Time{}
}

// latest returns the last start that may be caught up, and did not fall into a blackout.
func (s Situation) latest(now time.Time) (time.Time, bool) {
	after, until := times.Latest(s.Since, now.Add(-s.Deadline)), now
	for range maxBlackouts {
		at, found := s.Recurrence.Latest(after, until)
		if !found {
			return time.Time{}, false
		}
		in := s.Blackouts.At(at)
		if !in.Open {
			return at, true
		}
		until = in.Since.Add(-time.Nanosecond)
	}
	return time.Time{}, false
}

// Deadline is how long after a start it may be caught up.
func Deadline(rules backupv1alpha1.StartRules) time.Duration {
	return ptr.Deref(rules.StartingDeadline, metav1.Duration{Duration: defaultDeadline}).Duration
}

// DoneUntil reads from a Schedule up to when starts are done with for Velero. It counts on from there.
func DoneUntil(object *unstructured.Unstructured) (time.Time, bool) {
	var declared velerov1.Schedule
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &declared) != nil {
		return time.Time{}, false
	}
	done := declared.CreationTimestamp.Time
	for _, at := range []*metav1.Time{declared.Status.LastBackup, declared.Status.LastSkipped} {
		if at != nil {
			done = times.Latest(done, at.Time)
		}
	}
	return done, true
}
