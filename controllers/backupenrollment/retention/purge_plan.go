package retention

import (
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
)

// PlanPurge decides how to delete all backups, however young or good they are. It says how many cannot be deleted yet, since
// they have not ended, or a drill restores them.
func (s Stored) PlanPurge() (d Deletions, underWay int) {
	var all []*unstructured.Unstructured
	for _, backup := range slices.Backward(history.LatestFirst(s.Backups)) {
		ended := history.HasEnded(velerov1.BackupPhase(veleroobjects.PhaseOf(backup)))
		switch location := backup.GetLabels()[velerov1.StorageLocationLabel]; {
		case location != "" && location != s.Own.Name: // It is in other storage.
		case !ended, slices.Contains(s.Restored, backup.GetName()):
			underWay++
		case isDeletable(backup, s.Own.Name):
			all = append(all, backup)
		}
	}
	return s.planDeletions(all), underWay
}
