package backupenrollment

import (
	"context"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/retention"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// maxTold is how much an enrollment tells of its backups, in bytes of JSON, and maxToldDetails what the bucket tells of one:
// problems and volumes, five each.
const (
	maxTold        = (history.MaxRuns+10)*(history.MaxProblem+1024) + (history.MaxRuns+1)*maxToldDetails
	maxToldDetails = history.MaxProblem + 5*320 + 5*(320+256) + 512
)

// Forget implements target.StagedKind: another cluster has a prefix of its own.
func (r *Reconciler) Forget(status *backupv1alpha1.BackupEnrollmentStatus) {
	status.Velero, status.Requested, status.CaughtUp, status.Next, status.LastSuccessful, status.Runs = nil, nil, nil, nil, nil, nil
	status.Deletions, status.Storage, status.Server, status.ExtendedAt = nil, nil, nil, nil
	status.LastDrill, status.Evidence, status.DrillPlans = nil, nil, nil
}

// Size implements target.StagedKind.
func (r *Reconciler) Size(*observation) int { return maxTold }

// journal is where it is kept what is about to be done.
type journal = target.Journal[*backupv1alpha1.BackupEnrollment, backupv1alpha1.BackupEnrollmentStatus]

// Stages implements target.StagedKind.
func (r *Reconciler) Stages(o *observation, p target.StagedPlan, cluster *fleet.Cluster, journal *journal) apply.Stages {
	if o.Extra.purge != nil {
		if o.Extra.purge.begun = p.Due; !p.Due {
			return apply.NoStages{}
		}
		return &purgeStages{o: o, cluster: cluster, journal: journal}
	}
	s := &stages{reconciler: r, o: o, cluster: cluster, journal: journal, backups: stepsOf(o.Extra)}
	if len(s.backups) == 0 && len(o.Extra.proof.Due) == 0 && len(o.Extra.retention.Due) == 0 && len(o.Extra.retention.Extend) == 0 {
		return apply.NoStages{}
	}
	return s
}

// stages make the drills that are due, the backups that Daytwo makes itself, and the requests to delete backups whose time is
// over, once everything is applied that Velero needs.
type stages struct {
	apply.NoStages
	reconciler *Reconciler

	o       *observation
	cluster *fleet.Cluster
	journal *journal
	// backups are those for which there is something to do.
	backups []ownBackup
}

// After implements apply.Stages.
func (s *stages) After(ctx context.Context) (bool, error) {
	if err := s.reconciler.makeDrills(ctx, s.o.Extra.proof.Plans, s.o.Target.Namespace); err != nil {
		return false, err
	}
	s.o.Extra.drillsMade = true
	for _, one := range s.backups {
		if err := s.backUp(ctx, one); err != nil {
			return false, err
		}
	}
	if err := retention.Extend(ctx, s.cluster, s.o.Status.Velero, s.o.Extra.retention.Extend); err != nil {
		return false, err
	}
	s.o.Extra.retention.Extended = len(s.o.Extra.retention.Extend) > 0
	err := retention.RequestDeletions(ctx, s.cluster, s.o.Status.Velero, s.o.Extra.retention.Due)
	return err == nil, err
}
