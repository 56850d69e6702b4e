package backupenrollment

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
)

// protectionFinding is whether somebody with the credentials of the cluster could erase its backups for good, or whoever sees
// the bucket read the data of volumes. It is no reason for an enrollment not to be Ready.
func protectionFinding(o *observation, told history.History) finding {
	return historyFinding(o.Extra.storage.check).withPassword(o.Target, told)
}

// withPassword adds whether whoever reads the bucket could read the data of volumes.
func (f finding) withPassword(enrollment *backupv1alpha1.BackupEnrollment, told history.History) finding {
	if _, named := passwordKey(enrollment); named {
		return f
	}
	backup, _ := told.LastRead()
	if backup == nil || backup.Volumes.InRepository == 0 {
		return f
	}
	text := fmt.Sprintf("backup %s has the data of %d volumes in Velero's repository, and the policy names no password for it, so it may be the one that Velero publishes: set spec.storage.repositoryPasswordRef",
		backup.Name, backup.Volumes.InRepository)
	if f.status == metav1.ConditionFalse {
		f.message += "; " + text
		return f
	}
	f.status, f.reason, f.message = metav1.ConditionFalse, backupv1alpha1.ReasonRepositoryPasswordMissing, text
	return f
}

// historyFinding is what becomes of what is deleted from the bucket.
func historyFinding(check *backupv1alpha1.StorageCheck) finding {
	f := finding{kind: backupv1alpha1.ConditionStorageProtected, status: metav1.ConditionUnknown, reason: backupv1alpha1.ReasonStorageNotChecked}
	switch {
	case check == nil:
		f.message = "the storage was not probed yet"
		return f
	case check.History == "":
		f.message = "what becomes of deleted objects could not be found out: " + check.Message
		return f
	}
	switch check.History {
	case backupv1alpha1.HistoryKept:
		f.status, f.reason = metav1.ConditionTrue, metav1alpha1.ReasonSucceeded
		f.message = "the bucket keeps versions, and the credentials of the cluster cannot delete them"
	case backupv1alpha1.HistoryErasable:
		f.status, f.reason = metav1.ConditionFalse, backupv1alpha1.ReasonHistoryErasable
		f.message = "whoever has the credentials of the cluster can delete its backups for good: take s3:DeleteObjectVersion and s3:BypassGovernanceRetention from them"
	case backupv1alpha1.HistoryNotKept:
		f.status, f.reason = metav1.ConditionFalse, backupv1alpha1.ReasonHistoryNotKept
		f.message = "whoever has the credentials of the cluster can delete its backups for good: turn the versions of the bucket on, or its object lock"
	default:
		f.message = fmt.Sprintf("%q is not known", check.History)
	}
	return f
}
