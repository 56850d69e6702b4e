package backupenrollment

import (
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/starts"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// maxCatchUpMessage is how long the message of a backup that is caught up may be, in bytes.
const maxCatchUpMessage = 900

// startsOf an enrollment; false if they are not known, or are not caught up.
func startsOf(o *observation) (starts.Situation, bool) {
	rules, own, velero := o.Target.Spec.Schedule, o.Status.Velero, o.Extra.velero
	if !ptr.Deref(rules.CatchUp, true) || velero == nil || velero.schedule == nil || velero.backups.Unknown != "" ||
		velero.backups.Pending() || velero.backups.Incomplete {
		return starts.Situation{}, false
	}
	recurrence, refused := schedule.Parse(own.Cron, "")
	done, known := starts.DoneUntil(velero.schedule)
	if refused != nil || !known {
		return starts.Situation{}, false
	}
	since := o.Target.CreationTimestamp.Time
	if own.StartsSince != nil {
		since = times.Latest(since, own.StartsSince.Time)
	}
	if before := o.Status.CaughtUp; before != nil {
		since = times.Latest(since, before.ScheduledAt.Time)
	}
	return starts.Situation{
		Recurrence: recurrence, Blackouts: starts.BlackoutsOf(o.Target), Since: since, Deadline: starts.Deadline(rules), DoneUntil: done,
		Told: history.Of(velero.backups.Objects, standardOf(o, o.Extra.reading.Known)),
	}, true
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
	found, wakeAt := known.Owed(o.Now)
	if found == nil || !isUsable(o) {
		return nil, wakeAt
	}
	record := backupv1alpha1.CaughtUpBackup{
		ScheduledAt: metav1.NewTime(found.At), Reason: found.Reason, Message: truncate.Message(found.Message, maxCatchUpMessage),
		Action: newBackup(o, "catchup-"+strconv.FormatInt(found.At.Unix(), 10), id),
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
	deadline := starts.Deadline(o.Target.Spec.Schedule)
	switch {
	case o.Now.After(before.ScheduledAt.Add(deadline)):
		message := fmt.Sprintf("it could not be made within %s, the policy's spec.schedule.startingDeadline", deadline)
		next.Action, next.progress = action.End(next.Action, metav1alpha1.ActionTimedOut, message, o.Now), progress{ended: true}
	case starts.BlackoutsOf(o.Target).At(o.Now).Open:
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
