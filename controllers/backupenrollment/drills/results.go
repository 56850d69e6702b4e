package drills

import (
	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// RestoredBy are the names of the backups that drills work with now.
func RestoredBy(drills []backupv1alpha1.DRDrill) (names []string) {
	for i := range drills {
		if source := drills[i].Status.Source; source != nil && isUnderWay(drills[i]) {
			names = append(names, source.Backup)
		}
	}
	return names
}

// LatestResult is that of the drill that ended last and came to a result, or the one on record; nil if there is none.
func LatestResult(recorded *backupv1alpha1.DrillResult, drills []backupv1alpha1.DRDrill) *backupv1alpha1.DrillResult {
	latest := recorded
	for i := range drills {
		status := &drills[i].Status
		conclusive := status.Verdict == backupv1alpha1.DrillPassed || status.Verdict == backupv1alpha1.DrillFailed
		if !conclusive || status.EndedAt == nil || latest != nil && !latest.EndedAt.Before(status.EndedAt) {
			continue
		}
		latest = &backupv1alpha1.DrillResult{
			Name: drills[i].Name, Verdict: status.Verdict, EndedAt: *status.EndedAt, Message: truncate.Message(status.Message, history.MaxProblem),
			DataAge: status.DataAge, RecoveryTime: status.RecoveryTime,
		}
		if status.Source != nil {
			latest.Backup = status.Source.Backup
		}
	}
	return latest
}
