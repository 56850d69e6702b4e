package drdrill

import (
	"slices"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
)

// withVolumes are the backups that may have all volumes, if the policy asks for that: all but those of which the enrollment
// tells otherwise, or has not read them yet. It tells of the last ten; older ones are taken as they are. A drill that names a
// backup gets it.
func withVolumes(drill *backupv1alpha1.DRDrill, backups []backupstore.Backup, enrollment *backupv1alpha1.BackupEnrollment) []backupstore.Backup {
	if !enrollment.Spec.RequireVolumes || drill.Spec.Backup.Select == backupv1alpha1.BackupNamed {
		return backups
	}
	return slices.DeleteFunc(slices.Clone(backups), func(backup backupstore.Backup) bool {
		return slices.ContainsFunc(enrollment.Status.Runs, func(run backupv1alpha1.BackupRun) bool {
			return run.Name == backup.Name && (run.Problem != "" || !run.DetailsRead)
		})
	})
}
