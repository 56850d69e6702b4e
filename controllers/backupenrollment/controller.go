package backupenrollment

import (
	"errors"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/internal/assumerole"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
)

// The verb manage tells the manager from everybody else: see config/admission/manager_only.yaml.
// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=backupenrollments,verbs=get;list;watch;patch;manage
// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=backupenrollments/status,verbs=get;patch
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps BackupEnrollments as their policies declare them. It is their target.DeclaredKind and target.StagedKind.
type Reconciler struct {
	// An enrollment has nothing in its cluster but its objects, which the inventory lists. Backups are Velero's.
	notStaged

	// Room of the enrollments.
	Room *Room
	// Rules that say which changes are drift.
	Rules managedfields.Rules
	// Installation is the value of the label daytwo.dev/managed-by.
	Installation string
	// AllowBackupHooks lets revisions run commands in the pods of customers.
	AllowBackupHooks bool
	Clock            clock.PassiveClock
	// Storage is where the buckets of backups may be.
	Storage backupstore.Options
	// Minter mints the credentials of policies that assume a role.
	Minter *assumerole.Minter

	details *background.Tasks[history.AllDetails]
	probes  *background.Tasks[backupstore.Probe]
	mints   *background.Tasks[struct{}]
	// questions to Velero, for its version.
	questions *background.Tasks[string]
}

// Room is the life of BackupEnrollments.
type Room = target.Reconciler[*backupv1alpha1.BackupEnrollment, backupv1alpha1.BackupEnrollmentStatus, struct{}]

type (
	notStaged           = target.NotStaged[*backupv1alpha1.BackupEnrollment, backupv1alpha1.BackupEnrollmentStatus, extra]
	declaredEnrollments = target.Declared[*backupv1alpha1.BackupEnrollment, backupv1alpha1.BackupEnrollmentStatus, extra]
	observation         = target.DeclaredObservation[*backupv1alpha1.BackupEnrollment, backupv1alpha1.BackupEnrollmentStatus, extra]
	outcome             = target.Outcome[backupv1alpha1.BackupEnrollmentStatus]
)

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options target.Options) error {
	r.Room.Secrets = func(enrollment *backupv1alpha1.BackupEnrollment) []string {
		secrets := []string{enrollment.Spec.CredentialsSecret}
		if password, named := passwordKey(enrollment); named {
			secrets = append(secrets, password.Name)
		}
		return secrets
	}
	if err := r.watchDrills(mgr); err != nil {
		return err
	}
	r.details, r.probes, r.mints, r.questions = newDetails(), newProbes(), newMints(), newQuestions()
	watch, unwatched := r.Room.AddWatches, error(nil)
	r.Room.AddWatches = func(b *builder.Builder) {
		watch(b)
		unwatched = errors.Join(r.details.AddTo(mgr, b), r.probes.AddTo(mgr, b), r.mints.AddTo(mgr, b), r.questions.AddTo(mgr, b))
	}
	declared := &declaredEnrollments{DeclaredKind: r, Staged: r, Room: r.Room, Rules: r.Rules, Installation: r.Installation, Clock: r.Clock}
	err := declared.SetupWithManager(mgr, options)
	return errors.Join(err, unwatched)
}

// TargetKind is the kind BackupEnrollment, for the registry of target kinds.
func TargetKind() *targets.Kind {
	kind := targets.Pair[*backupv1alpha1.BackupEnrollment]{
		Target: &backupv1alpha1.BackupEnrollment{}, Targets: &backupv1alpha1.BackupEnrollmentList{},
		Policy: &backupv1alpha1.BackupPolicy{}, Policies: &backupv1alpha1.BackupPolicyList{},
	}.Kind(backupv1alpha1.GroupVersion, func(enrollment *backupv1alpha1.BackupEnrollment) targets.Holdings {
		return targets.Holdings{Objects: enrollment.Status.Inventory}
	})
	view := kind.View
	kind.View = func(object client.Object) targets.View {
		viewed := view(object)
		viewed.Backup = backupOf(object.(*backupv1alpha1.BackupEnrollment))
		return viewed
	}
	return kind
}

func backupOf(enrollment *backupv1alpha1.BackupEnrollment) *targets.Backup {
	backup := &targets.Backup{Requested: metav1alpha1.BackupRequested(enrollment)}
	if last := enrollment.Status.LastSuccessful; last != nil && last.StartedAt != nil {
		backup.DataOf = last.StartedAt.Time
	}
	if request := enrollment.Status.Requested; request != nil && request.Action.Outcome != "" {
		backup.Answered = request.Enrollment
		if request.Action.Outcome != metav1alpha1.ActionSucceeded {
			backup.Problem = string(request.Action.Outcome) + ": " + request.Action.Message
		}
	}
	return backup
}

// Name implements target.DeclaredKind.
func (r *Reconciler) Name() string { return "BackupEnrollment" }

// New implements target.DeclaredKind.
func (r *Reconciler) New() *backupv1alpha1.BackupEnrollment {
	return &backupv1alpha1.BackupEnrollment{}
}

// NewList implements target.DeclaredKind.
func (r *Reconciler) NewList() client.ObjectList { return &backupv1alpha1.BackupEnrollmentList{} }

// Status implements target.DeclaredKind.
func (r *Reconciler) Status(enrollment *backupv1alpha1.BackupEnrollment) *backupv1alpha1.BackupEnrollmentStatus {
	return &enrollment.Status
}

// CopyStatus implements target.DeclaredKind.
func (r *Reconciler) CopyStatus(to, from *backupv1alpha1.BackupEnrollmentStatus) {
	*to = *from.DeepCopy()
}

// Parts implements target.DeclaredKind.
func (r *Reconciler) Parts(status *backupv1alpha1.BackupEnrollmentStatus) target.Status {
	return target.Status{TargetStatus: &status.TargetStatus, ObjectsStatus: &status.ObjectsStatus}
}

// DropSteps implements target.FollowingKind.
func (r *Reconciler) DropSteps(status *backupv1alpha1.BackupEnrollmentStatus) {
	status.Runs, status.LastSuccessful, status.Next, status.Server = nil, nil, nil, nil
}

// Drift implements target.DeclaredKind.
func (r *Reconciler) Drift(enrollment *backupv1alpha1.BackupEnrollment) metav1alpha1.DriftPolicy {
	return enrollment.Spec.Drift
}
