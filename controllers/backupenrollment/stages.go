package backupenrollment

import (
	"context"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// maxTold is how much an enrollment tells of its backups, in bytes of JSON.
const maxTold = (maxRuns + 7) * (maxProblem + 1024)

// Forget implements target.StagedKind: another cluster has a prefix of its own.
func (r *Reconciler) Forget(status *backupv1alpha1.BackupEnrollmentStatus) {
	status.Velero, status.Requested, status.Next, status.LastSuccessful, status.Runs, status.Deletions = nil, nil, nil, nil, nil, nil
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
	s := &stages{reconciler: r, o: o, cluster: cluster, journal: journal, request: o.Extra.request}
	if s.request != nil && (s.request.step == action.Wait || s.request.step == action.Make && o.Extra.template == nil) {
		s.request = nil
	}
	if s.request == nil && len(o.Extra.proof.due) == 0 && len(o.Extra.retention.due) == 0 {
		return apply.NoStages{}
	}
	return s
}

// stages make the drills that are due, the backup that somebody asked for, and the requests to delete backups whose time is
// over, once everything is applied that Velero needs.
type stages struct {
	apply.NoStages
	reconciler *Reconciler

	o       *observation
	cluster *fleet.Cluster
	journal *journal
	// request is the backup to be made; nil for none.
	request *requested
}

// After implements apply.Stages.
func (s *stages) After(ctx context.Context) (bool, error) {
	if err := s.reconciler.makeDrills(ctx, s.o.Extra.proof.planned, s.o.Target.Namespace); err != nil {
		return false, err
	}
	s.o.Extra.drillsMade = true
	if s.request != nil {
		if done, err := s.backUp(ctx, s.request); !done || err != nil {
			return done, err
		}
	}
	err := requestDeletions(ctx, s.cluster, s.o.Status.Velero, s.o.Extra.retention.due)
	return err == nil, err
}

// backUp makes the Backup. The record is stored before.
func (s *stages) backUp(ctx context.Context, request *requested) (bool, error) {
	if request.isNew {
		err := s.journal.Store(ctx, func(status *backupv1alpha1.BackupEnrollmentStatus) { status.Requested = request.DeepCopy() })
		if err != nil {
			return false, err
		}
	}
	backup := emptyBackup(s.o.Status.Velero)
	if request.step == action.Make {
		backup.SetLabels(map[string]string{metav1alpha1.LabelBackup: s.o.Status.Velero.Name})
		backup.Object["spec"] = s.o.Extra.template
	}
	var err error
	request.Action, err = action.Do(ctx, s.cluster, action.Owner{Object: s.o.Target}, request.Action, request.step, backup, s.o.Now)
	request.ended = request.Action.Outcome != ""
	return err == nil, err
}
