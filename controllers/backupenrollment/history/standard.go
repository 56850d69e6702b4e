package history

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
)

// Standard is what makes a backup a good one.
type Standard struct {
	// AcceptPartiallyFailed: one that Velero calls PartiallyFailed may be good.
	AcceptPartiallyFailed bool
	// MinItems is how many objects one has at least.
	MinItems int64
	// RequireVolumes: one that lacks the data of volumes is not good.
	RequireVolumes bool
	// Details of backups, as far as they are known.
	Details AllDetails
	// Recorded is the last good backup on record. One from before requireVolumes stays good until its details are read.
	Recorded ID
}

// IsUnread is whether a backup that has ended is neither good nor bad, because its details are not known yet.
func (s Standard) IsUnread(run backupv1alpha1.BackupRun) bool {
	return s.RequireVolumes && run.EndedAt != nil && run.Problem == "" && !run.DetailsRead && IDOf(run) != s.Recorded
}

// IsGood is whether a backup has ended, and meets the standard.
func (s Standard) IsGood(run backupv1alpha1.BackupRun) bool {
	return run.EndedAt != nil && run.Problem == "" && !s.IsUnread(run)
}

// Assess says whether a backup is a good one, or may turn out to be one once its details are read.
func (s Standard) Assess(backup *unstructured.Unstructured) (good, unread bool) {
	run, ok := RunOf(backup, s)
	return ok && s.IsGood(run), ok && s.IsUnread(run)
}
