package details

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// readingTimeOfOne is how long it may take to read the details of one backup.
const readingTimeOfOne = time.Minute

// Store is what details are read from.
type Store interface {
	// Details of the backup that has the name.
	Details(ctx context.Context, backup string) (backupstore.Details, error)
}

// ReadEach reads the details of backups from the bucket, and adds them to those that were read before. The error is that of
// the first backup of which that failed; the others are read nonetheless.
func ReadEach(ctx context.Context, store Store, wanted []history.ID, before history.AllDetails) (history.AllDetails, error) {
	found := history.AllDetails{}
	maps.Copy(found, before)
	var first error
	for _, id := range wanted {
		one, err := detailsOfOne(ctx, store, id.Name)
		if err != nil {
			one = history.Details{Problem: truncate.Message(err.Error(), history.MaxProblem)}
			first = cmp.Or(first, fmt.Errorf("details of backup %s: %w", id.Name, err))
		}
		found[id] = one
	}
	return found, first
}

// detailsOfOne reads the details of one backup.
func detailsOfOne(ctx context.Context, store Store, name string) (history.Details, error) {
	ctx, cancel := context.WithTimeout(ctx, readingTimeOfOne)
	defer cancel()
	read, err := store.Details(ctx, name)
	if err != nil {
		return history.Details{}, err
	}
	found := history.Details{Read: true, Bytes: &read.Bytes, Volumes: volumesOf(read.Volumes)}
	for _, problem := range read.Problems {
		text := problem.Origin + ": " + problem.Words
		if problem.IsWarning {
			text = history.WarningMark + text
		}
		found.Problems = append(found.Problems, text)
	}
	return found, nil
}

// volumesOf is nil if nobody wrote which volumes there are.
func volumesOf(read *backupstore.Volumes) *backupv1alpha1.BackupVolumes {
	if read == nil {
		return nil
	}
	volumes := &backupv1alpha1.BackupVolumes{
		Total: ptr.To(int32(min(read.Total, math.MaxInt32))), Covered: ptr.To(int32(min(read.Covered, math.MaxInt32))),
		InRepository: int32(min(read.InRepository, math.MaxInt32)),
	}
	for _, one := range read.Uncovered {
		volumes.Uncovered = append(volumes.Uncovered, backupv1alpha1.UncoveredVolume{Name: one.Name, Reason: one.Reason})
	}
	return volumes
}
