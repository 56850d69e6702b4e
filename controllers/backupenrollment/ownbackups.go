package backupenrollment

import (
	"cmp"
	"context"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// backupTimeout is how long a backup that Daytwo makes itself may take. Those of large volumes take hours.
const backupTimeout = 24 * time.Hour

// Events: reasons and actions.
const (
	eventBackupFailed  = "RequestedBackupFailed"
	eventCatchUpFailed = "CatchUpFailed"
	actionBackUp       = "BackUp"
)

// ownBackup is a Backup that Daytwo makes beside those that Velero makes by the Schedule.
type ownBackup interface {
	// parts are the action that makes it, and how far that is.
	parts() (*metav1alpha1.Action, *progress)
	// record writes it into a status.
	record(status *backupv1alpha1.BackupEnrollmentStatus)
}

// progress is how far a Backup is that Daytwo makes.
type progress struct {
	// step is what is to be done about it now.
	step action.Step
	// isNew: it is not on record yet.
	isNew bool
	// ended: it has just ended.
	ended bool
}

// begins is a Backup that is to be made, and is not on record.
func begins() progress { return progress{step: action.Make, isNew: true} }

// ownBackups are those that are under way, or have just ended.
func (e extra) ownBackups() (list []ownBackup) {
	if e.request != nil {
		list = append(list, e.request)
	}
	if e.caughtUp != nil {
		list = append(list, e.caughtUp)
	}
	return list
}

// makesBackup is whether a Backup is to be made now.
func (e extra) makesBackup() bool {
	return slices.ContainsFunc(e.ownBackups(), func(one ownBackup) bool {
		_, at := one.parts()
		return at.step == action.Make
	})
}

// deadlines are when those that are under way have to have ended.
func (e extra) deadlines() (list []time.Time) {
	for _, one := range e.ownBackups() {
		if made, at := one.parts(); !at.ended {
			list = append(list, made.Deadline.Time)
		}
	}
	return list
}

// stepsOf are the Backups for which there is something to do in the cluster. One is made from a template that is known.
func stepsOf(e extra) []ownBackup {
	return slices.DeleteFunc(e.ownBackups(), func(one ownBackup) bool {
		_, at := one.parts()
		return at.step == action.Wait || at.step == action.Make && e.template == nil
	})
}

// backUp makes the Backup. The record is stored before.
func (s *stages) backUp(ctx context.Context, one ownBackup) error {
	made, at := one.parts()
	if at.isNew {
		if err := s.journal.Store(ctx, one.record); err != nil {
			return err
		}
	}
	backup := emptyBackup(s.o.Status.Velero)
	if at.step == action.Make {
		backup.SetLabels(map[string]string{metav1alpha1.LabelBackup: s.o.Status.Velero.Name})
		backup.Object["spec"] = s.o.Extra.template
	}
	var err error
	*made, err = action.Do(ctx, s.cluster, action.Owner{Object: s.o.Target}, *made, at.step, backup, s.o.Now)
	at.ended = made.Outcome != ""
	return err
}

// newBackup is the record of a Backup that is to be made.
func newBackup(o *observation, name string, id types.UID) metav1alpha1.Action {
	return action.Owner{Object: o.Target}.New(name, target.ClusterKey(o.Target), id, emptyBackup(o.Status.Velero), o.Now, backupTimeout)
}

func emptyBackup(own *backupv1alpha1.VeleroObjects) *unstructured.Unstructured {
	backup := &unstructured.Unstructured{}
	backup.SetGroupVersionKind(veleroobjects.BackupKind)
	backup.SetNamespace(own.Namespace)
	return backup
}

// isAvailable is whether Velero has found the storage available: it refuses a Backup for good before that.
func isAvailable(velero *seen) bool {
	return velero != nil && veleroobjects.PhaseOf(velero.location) == string(velerov1.BackupStorageLocationPhaseAvailable)
}

// follow looks how far a backup is that is on record.
func follow(o *observation, before metav1alpha1.Action, id types.UID) (metav1alpha1.Action, progress) {
	s := action.Situation{Action: before, Now: o.Now, ClusterID: id, Decide: decide(standardOf(o, o.Extra.reading.Known))}
	switch velero := o.Extra.velero; {
	case velero == nil || velero.missing:
		s.Unknown = "Velero is not there"
	case velero.backups.Unknown != "":
		s.Unknown = velero.backups.Unknown
	case velero.backups.Pending():
		s.Unknown, s.Pending = "waits for the first list of Backups", true
	default:
		s.Object = withID(velero.backups, before.Object)
	}
	if s.Object == nil && before.UID == "" && s.Unknown == "" && !isAvailable(o.Extra.velero) {
		s.Unknown = "waits until Velero has found the storage available"
	}
	next, step, _ := s.Next()
	return next, progress{step: step, ended: next.Outcome != ""}
}

func withID(shown fleet.Observed, id string) *unstructured.Unstructured {
	for _, object := range shown.Objects {
		if objects.RefOf(object).ID() == id {
			return object
		}
	}
	return nil
}

// decide says what became of a Backup.
func decide(s history.Standard) func(*unstructured.Unstructured) action.Verdict {
	return func(object *unstructured.Unstructured) action.Verdict {
		run, ok := history.RunOf(object, s)
		switch {
		case !ok:
			return action.Verdict{Outcome: metav1alpha1.ActionFailed, Message: "the cluster shows something else than a Backup"}
		case run.EndedAt == nil:
			return action.Verdict{Message: run.Phase}
		case s.IsUnread(run):
			return action.Verdict{Message: cmp.Or(run.DetailsProblem, "it has ended; which volumes it has is read from the bucket")}
		case run.Problem != "":
			return action.Verdict{Outcome: metav1alpha1.ActionFailed, Message: run.Problem}
		}
		return action.Verdict{Outcome: metav1alpha1.ActionSucceeded, Message: history.Describe(&run)}
	}
}
