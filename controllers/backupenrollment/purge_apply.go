package backupenrollment

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/retention"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// purgeStages delete all backups of an enrollment before anything that Velero needs is removed.
type purgeStages struct {
	apply.NoStages

	o       *observation
	cluster *fleet.Cluster
	journal *journal
}

// Before implements apply.Stages.
func (s *purgeStages) Before(ctx context.Context) (bool, error) {
	p, own := s.o.Extra.purge, s.o.Status.Velero
	if p.schedule != nil { // So that no more backups come.
		if err := apply.Delete(ctx, s.cluster, p.schedule.Ref, p.schedule.UID); err != nil {
			return false, fmt.Errorf("remove %s: %w", p.schedule.Ref, err)
		}
	}
	if err := retention.RequestDeletions(ctx, s.cluster, own, p.Due); err != nil || !p.complete {
		return false, err
	}
	if left, err := s.findUnseen(ctx, own); left || err != nil {
		return false, err
	}
	// From here on the storage location goes, without which nobody can tell any more.
	p.completedAt = s.o.Now
	return true, s.journal.Store(ctx, p.outcome().Tell)
}

// findUnseen is whether the cluster has backups that the watch does not show yet.
func (s *purgeStages) findUnseen(ctx context.Context, own *backupv1alpha1.VeleroObjects) (bool, error) {
	listed, err := s.cluster.List(ctx, veleroobjects.BackupKind, own.Namespace, metav1alpha1.LabelBackup+"="+own.Name)
	if err != nil {
		return false, fmt.Errorf("list the backups: %w", err)
	}
	shown := map[types.UID]bool{}
	for _, backup := range s.o.Extra.velero.backups.Objects {
		shown[backup.GetUID()] = true
	}
	return slices.ContainsFunc(listed, func(backup metav1.PartialObjectMetadata) bool { return !shown[backup.UID] }), nil
}
