package backupenrollment

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// requested is a backup that somebody asked for, and what is to be done about it.
type requested struct {
	backupv1alpha1.RequestedBackup
	progress
}

func (r *requested) parts() (*metav1alpha1.Action, *progress) { return &r.Action, &r.progress }

func (r *requested) record(status *backupv1alpha1.BackupEnrollmentStatus) {
	status.Requested = r.DeepCopy()
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
		next := &requested{RequestedBackup: *before}
		next.Action, next.progress = follow(o, before.Action, id)
		return next
	}
	asked := askedFor(o.Target, o.Tenant)
	if o.Status.Velero == nil || !differs(asked, before) || !isAvailable(o.Extra.velero) {
		return nil
	}
	sum := sha256.Sum256([]byte(asked.Policy + "\n" + asked.Enrollment + "\n" + asked.Cluster))
	asked.Action = newBackup(o, "backup-"+hex.EncodeToString(sum[:4]), id)
	return &requested{RequestedBackup: asked, progress: begins()}
}

// warningOf tells people of a backup that they asked for and did not get; nil for nothing to tell.
func warningOf(r *requested) *target.Warning {
	if r == nil || r.Action.Outcome == "" || r.Action.Outcome == metav1alpha1.ActionSucceeded {
		return nil
	}
	return &target.Warning{Reason: eventBackupFailed, Action: actionBackUp, Message: "the backup that was asked for " + string(r.Action.Outcome) + ": " + r.Action.Message}
}
