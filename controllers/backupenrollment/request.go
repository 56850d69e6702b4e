package backupenrollment

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// backupTimeout is how long a backup that somebody asked for may take. Those of large volumes take hours.
const backupTimeout = 24 * time.Hour

// requested is a backup that somebody asked for, and what is to be done about it.
type requested struct {
	backupv1alpha1.RequestedBackup
	step action.Step
	// isNew: it is not on record yet.
	isNew bool
	// ended: it has just ended.
	ended bool
}

// askedFor are the annotations by which people ask for a backup, wherever they set them.
func askedFor(enrollment *backupv1alpha1.BackupEnrollment, tenant *tenancyv1alpha1.TenantCluster) backupv1alpha1.RequestedBackup {
	asked := backupv1alpha1.RequestedBackup{Policy: enrollment.Spec.BackupNow, Enrollment: metav1alpha1.BackupRequested(enrollment)}
	if tenant != nil {
		asked.Cluster = metav1alpha1.BackupRequested(tenant)
	}
	return asked
}

// differs is whether somebody asks for another backup than the one before. Who removes an annotation asks for nothing.
func differs(asked backupv1alpha1.RequestedBackup, before *backupv1alpha1.RequestedBackup) bool {
	if before == nil {
		before = &backupv1alpha1.RequestedBackup{}
	}
	return asked.Policy != "" && asked.Policy != before.Policy || asked.Enrollment != "" && asked.Enrollment != before.Enrollment ||
		asked.Cluster != "" && asked.Cluster != before.Cluster
}

// requestOf decides about the backup that somebody asked for; nil for nothing to do. One that is under way ends first.
func requestOf(o *observation, id types.UID) *requested {
	before := o.Status.Requested
	if before != nil && before.Action.Outcome == "" {
		return follow(o, *before, id)
	}
	asked := askedFor(o.Target, o.Tenant)
	if o.Status.Velero == nil || !differs(asked, before) || !isAvailable(o.Extra.velero) {
		return nil
	}
	sum := sha256.Sum256([]byte(asked.Policy + "\n" + asked.Enrollment + "\n" + asked.Cluster))
	asked.Action = action.Owner{Object: o.Target}.New("backup-"+hex.EncodeToString(sum[:4]), target.ClusterKey(o.Target), id,
		emptyBackup(o.Status.Velero), o.Now, backupTimeout)
	return &requested{RequestedBackup: asked, step: action.Make, isNew: true}
}

func emptyBackup(own *backupv1alpha1.VeleroObjects) *unstructured.Unstructured {
	backup := &unstructured.Unstructured{}
	backup.SetGroupVersionKind(backupKind)
	backup.SetNamespace(own.Namespace)
	return backup
}

// isAvailable is whether Velero has found the storage available: it refuses a Backup for good before that.
func isAvailable(velero *seen) bool {
	return velero != nil && phaseOf(velero.location) == string(velerov1.BackupStorageLocationPhaseAvailable)
}

// follow looks how far a backup is that is on record.
func follow(o *observation, before backupv1alpha1.RequestedBackup, id types.UID) *requested {
	s := action.Situation{Action: before.Action, Now: o.Now, ClusterID: id, Decide: decide(standardOf(o.Target.Spec))}
	switch velero := o.Extra.velero; {
	case velero == nil || velero.missing:
		s.Unknown = "Velero is not there"
	case velero.backups.Unknown != "":
		s.Unknown = velero.backups.Unknown
	case velero.backups.Pending():
		s.Unknown, s.Pending = "waits for the first list of Backups", true
	default:
		s.Object = withID(velero.backups, before.Action.Object)
	}
	if s.Object == nil && before.Action.UID == "" && s.Unknown == "" && !isAvailable(o.Extra.velero) {
		s.Unknown = "waits until Velero has found the storage available"
	}
	var step action.Step
	before.Action, step, _ = s.Next()
	return &requested{RequestedBackup: before, step: step, ended: before.Action.Outcome != ""}
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
func decide(s standard) func(*unstructured.Unstructured) action.Verdict {
	return func(object *unstructured.Unstructured) action.Verdict {
		run, ok := runOf(object, s)
		switch {
		case !ok:
			return action.Verdict{Outcome: metav1alpha1.ActionFailed, Message: "the cluster shows something else than a Backup"}
		case run.EndedAt == nil:
			return action.Verdict{Message: run.Phase}
		case run.Problem != "":
			return action.Verdict{Outcome: metav1alpha1.ActionFailed, Message: run.Problem}
		}
		return action.Verdict{Outcome: metav1alpha1.ActionSucceeded, Message: describe(&run)}
	}
}

// warningOf tells people of a backup that they asked for and did not get; nil for nothing to tell.
func warningOf(r *requested) *target.Warning {
	if r == nil || r.Action.Outcome == "" || r.Action.Outcome == metav1alpha1.ActionSucceeded {
		return nil
	}
	return &target.Warning{Reason: eventBackupFailed, Action: actionBackUp, Message: "the backup that was asked for " + string(r.Action.Outcome) + ": " + r.Action.Message}
}

// Events: reasons and actions.
const (
	eventBackupFailed = "RequestedBackupFailed"
	actionBackUp      = "BackUp"
)
