package backupenrollment

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
)

// tellRecorded tells what follows from the record and the time alone, while a cluster does not show its backups.
func tellRecorded(o *observation, why string, result *outcome) {
	if !o.Target.DeletionTimestamp.IsZero() || o.Status.Velero == nil {
		return
	}
	told := history.History{Runs: o.Status.Runs, Good: o.Status.LastSuccessful, Unseen: why}
	findings := []finding{storageUnseen(why), backupsUnseen(told), coverageUnseen(why), rpoFinding(o, told), provenFinding(o), rtoFinding(o)}
	result.Tell = func(status *backupv1alpha1.BackupEnrollmentStatus) {
		tellDone(o, status)
		o.Extra.tellProof(status)
		tellFindings(o, status, findings)
	}
	for _, f := range findings {
		result.Due = append(result.Due, f.due)
	}
}

// storageUnseen is of storage of which Velero's word is not seen.
func storageUnseen(why string) finding {
	return finding{kind: backupv1alpha1.ConditionStorageAvailable, status: metav1.ConditionUnknown, reason: backupv1alpha1.ReasonStorageNotChecked, message: "Velero's word on the storage is not seen: " + why}
}

// backupsUnseen is of backups of which those that are known may not be the last.
func backupsUnseen(told history.History) finding {
	f := finding{kind: backupv1alpha1.ConditionBackupsHealthy, status: metav1.ConditionUnknown, reason: backupv1alpha1.ReasonBackupsNotSeen}
	f.message = "backups are not seen: " + told.Unseen
	if len(told.Runs) > 0 {
		last := told.Runs[0]
		f.message += fmt.Sprintf("; the last one known is %s (%s)", last.Name, last.Phase)
	}
	return f
}

func coverageUnseen(why string) finding {
	return finding{kind: backupv1alpha1.ConditionCoverageComplete, status: metav1.ConditionUnknown, reason: backupv1alpha1.ReasonCoverageUnknown, message: "what the cluster holds is not seen: " + why}
}
