package backupenrollment

import (
	"context"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// maxTold is how much an enrollment tells of its backups, in bytes of JSON.
const maxTold = (maxRuns + 1) * (maxProblem + 1024)

// Beside implements target.StagedKind: an enrollment has nothing in its cluster but its objects. Backups are Velero's.
func (r *Reconciler) Beside(*backupv1alpha1.BackupEnrollmentStatus) target.Beside {
	return target.Beside{}
}

// Forget implements target.StagedKind: another cluster has a prefix of its own.
func (r *Reconciler) Forget(status *backupv1alpha1.BackupEnrollmentStatus) {
	status.Velero, status.Next, status.LastSuccessful, status.Runs = nil, nil, nil, nil
}

// EndUndeclared implements target.StagedKind. The objects are removed by the inventory.
func (r *Reconciler) EndUndeclared(_ context.Context, o *observation, _ *fleet.Cluster) error {
	return o.Problem
}

// Size implements target.StagedKind.
func (r *Reconciler) Size(*observation) int { return maxTold }

// Plan implements target.StagedKind.
func (r *Reconciler) Plan(*observation) target.StagedPlan { return target.StagedPlan{} }

// Stages implements target.StagedKind.
func (r *Reconciler) Stages(
	*observation, target.StagedPlan, *fleet.Cluster, *target.Journal[*backupv1alpha1.BackupEnrollment, backupv1alpha1.BackupEnrollmentStatus],
) apply.Stages {
	return apply.NoStages{}
}
