package backupenrollment

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

const (
	// missedAfter is how long after a start no backup of it means that it was missed. Velero looks at its Schedules once a
	// minute.
	missedAfter = 5 * time.Minute
	// repeatedAfter is how long after the end of a backup that failed another one begins: what was in the way may pass, and
	// two that begin in one second cannot be told apart by their start.
	repeatedAfter = time.Minute
	// defaultDeadline is that of enrollments which their policy has not written since there is a deadline.
	defaultDeadline = 4 * time.Hour
	// maxCatchUpMessage is how long the message of a backup that is caught up may be, in bytes.
	maxCatchUpMessage = 900
)

// starts are what decides whether a start is caught up.
type starts struct {
	schedule.Recurrence
	blackouts blackouts
	// since: starts up to then are not looked at. They are from before the schedule, or were caught up.
	since time.Time
	// deadline is how long after a start it may be caught up.
	deadline time.Duration
	// doneUntil: starts up to then are done with for Velero, whatever became of their backups. As soon as it can, Velero makes
	// the last one after that itself, however late.
	doneUntil time.Time
	told      history
}

// owed is a start that no good backup has followed.
type owed struct {
	at      time.Time
	reason  backupv1alpha1.CatchUpReason
	message string
}

// owed returns the start that is to be caught up now; nil for none. The time is when to ask again though nothing happens; zero
// for never.
func (s starts) owed(now time.Time) (*owed, time.Time) {
	at, found := s.latest(now)
	switch {
	case !found || s.blackouts.at(now).open:
		return nil, time.Time{}
	case s.told.good != nil && !begun(*s.told.good).Before(at):
		return nil, time.Time{}
	case s.told.unread != nil && !begun(*s.told.unread).Before(at):
		return nil, time.Time{} // It may be a good one: who has read it asks again.
	case slices.ContainsFunc(s.told.runs, isRunning) || s.doneUntil.Before(at):
		return nil, time.Time{}
	}
	for _, run := range s.told.runs {
		if begun(run).Before(at) {
			continue
		}
		if again := run.EndedAt.Add(repeatedAfter); now.Before(again) {
			return nil, again
		}
		return &owed{at, backupv1alpha1.CatchUpFailed, fmt.Sprintf("backup %s (%s): %s", run.Name, run.Phase, run.Problem)}, time.Time{}
	}
	if missed := at.Add(missedAfter); now.Before(missed) {
		return nil, missed
	}
	return &owed{at, backupv1alpha1.CatchUpMissed, "there is no backup since then"}, time.Time{}
}

// latest returns the last start that may be caught up, and did not fall into a blackout.
func (s starts) latest(now time.Time) (time.Time, bool) {
	after, until := times.Latest(s.since, now.Add(-s.deadline)), now
	for range maxBlackouts {
		at, found := s.Latest(after, until)
		if !found {
			return time.Time{}, false
		}
		in := s.blackouts.at(at)
		if !in.open {
			return at, true
		}
		until = in.since.Add(-time.Nanosecond)
	}
	return time.Time{}, false
}

// begun is when a run began. One that Velero refused did not, and is taken for one that began as it was refused.
func begun(run backupv1alpha1.BackupRun) time.Time {
	if at := cmp.Or(run.StartedAt, run.EndedAt); at != nil {
		return at.Time
	}
	return time.Time{}
}

func isRunning(run backupv1alpha1.BackupRun) bool { return run.EndedAt == nil }

// startsSince is since when backups start by an expression. Another expression for the same times, as the clock of the time
// zone was set, is no other schedule.
func startsSince(was *backupv1alpha1.VeleroObjects, expression string, now time.Time) *metav1.Time {
	if was != nil && (was.Cron == expression || was.Until != nil && !now.Before(was.Until.Time)) {
		return was.StartsSince
	}
	at := metav1.NewTime(now).Rfc3339Copy()
	return &at
}

// startsOf an enrollment; false if they are not known, or are not caught up.
func startsOf(o *observation) (starts, bool) {
	rules, own, velero := o.Target.Spec.Schedule, o.Status.Velero, o.Extra.velero
	if !ptr.Deref(rules.CatchUp, true) || velero == nil || velero.schedule == nil || velero.backups.Unknown != "" ||
		velero.backups.Pending() || velero.backups.Incomplete {
		return starts{}, false
	}
	recurrence, refused := schedule.Parse(own.Cron, "")
	doneUntil, known := doneUntil(velero.schedule)
	if refused != nil || !known {
		return starts{}, false
	}
	since := o.Target.CreationTimestamp.Time
	if own.StartsSince != nil {
		since = times.Latest(since, own.StartsSince.Time)
	}
	if before := o.Status.CaughtUp; before != nil {
		since = times.Latest(since, before.ScheduledAt.Time)
	}
	return starts{
		Recurrence: recurrence, blackouts: blackoutsOf(o.Target), since: since, deadline: startingDeadline(rules), doneUntil: doneUntil,
		told: historyOf(velero.backups.Objects, standardOf(o, o.Extra.reading.known)),
	}, true
}

func startingDeadline(rules backupv1alpha1.StartRules) time.Duration {
	return ptr.Deref(rules.StartingDeadline, metav1.Duration{Duration: defaultDeadline}).Duration
}

// doneUntil reads from a Schedule up to when starts are done with for Velero. It counts on from there.
func doneUntil(object *unstructured.Unstructured) (time.Time, bool) {
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

// caughtUp is a backup in the place of one that failed or was missed, and what is to be done about it.
type caughtUp struct {
	backupv1alpha1.CaughtUpBackup
	progress
}

func (c *caughtUp) parts() (*metav1alpha1.Action, *progress) { return &c.Action, &c.progress }

func (c *caughtUp) record(status *backupv1alpha1.BackupEnrollmentStatus) {
	status.CaughtUp = c.DeepCopy()
}

// catchUpOf decides about the backup that is to be caught up; nil for nothing to do. The time is when to look again though
// nothing happens; zero for never. A backup that people asked for comes first, and may be good enough.
func catchUpOf(o *observation, id types.UID) (*caughtUp, time.Time) {
	if before := o.Status.CaughtUp; before != nil && before.Action.Outcome == "" {
		return followCatchUp(o, *before, id), time.Time{}
	}
	if o.Extra.request != nil || o.Suspension.Active {
		return nil, time.Time{}
	}
	known, ok := startsOf(o)
	if !ok {
		return nil, time.Time{}
	}
	found, wakeAt := known.owed(o.Now)
	if found == nil || !isUsable(o) {
		return nil, wakeAt
	}
	record := backupv1alpha1.CaughtUpBackup{
		ScheduledAt: metav1.NewTime(found.at), Reason: found.reason, Message: truncate.Message(found.message, maxCatchUpMessage),
		Action: newBackup(o, "catchup-"+strconv.FormatInt(found.at.Unix(), 10), id),
	}
	return &caughtUp{CaughtUpBackup: record, progress: begins()}, time.Time{}
}

// isUsable is whether Velero looks at the storage, and can use it.
func isUsable(o *observation) bool {
	return storageFinding(o.Extra.velero, staleAfter(frequencyOf(o.Status.Velero)), o.Now).status == metav1.ConditionTrue
}

// followCatchUp looks how far a backup is that is on record. One that was not made yet waits for the end of a blackout, and
// is not made after its deadline.
func followCatchUp(o *observation, before backupv1alpha1.CaughtUpBackup, id types.UID) *caughtUp {
	next := &caughtUp{CaughtUpBackup: before}
	next.Action, next.progress = follow(o, before.Action, id)
	if next.ended || next.Action.UID != "" || next.step != action.Make {
		return next
	}
	deadline := startingDeadline(o.Target.Spec.Schedule)
	switch {
	case o.Now.After(before.ScheduledAt.Add(deadline)):
		message := fmt.Sprintf("it could not be made within %s, the policy's spec.schedule.startingDeadline", deadline)
		next.Action, next.progress = action.End(next.Action, metav1alpha1.ActionTimedOut, message, o.Now), progress{ended: true}
	case blackoutsOf(o.Target).at(o.Now).open:
		next.step = action.Wait
	}
	return next
}

// catchUpWarning tells people of a backup that could not be caught up; nil for nothing to tell.
func catchUpWarning(c *caughtUp) *target.Warning {
	if c == nil || c.Action.Outcome == "" || c.Action.Outcome == metav1alpha1.ActionSucceeded {
		return nil
	}
	return &target.Warning{Reason: eventCatchUpFailed, Action: actionBackUp, Message: fmt.Sprintf(
		"the backup in the place of that of %s %s: %s", c.ScheduledAt.UTC().Format(time.RFC3339), c.Action.Outcome, c.Action.Message)}
}
