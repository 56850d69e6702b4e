package drdrill

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
	"github.com/daytwo-dev/daytwo/controllers/internal/run"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
	"github.com/daytwo-dev/daytwo/internal/evidence"
)

// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=drdrills,verbs=get;list;watch;patch;manage
// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=drdrills/status,verbs=get;patch
// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=backupenrollments,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;create

// Room is the life of DRDrills.
type Room = run.Reconciler[*backupv1alpha1.DRDrill, backupv1alpha1.DRDrillStatus]

type (
	// view is what is decided from, move what is decided.
	view = run.View[*backupv1alpha1.DRDrill]
	move = run.Move[*backupv1alpha1.DRDrill]
)

// Reconciler carries out DRDrills. It is their run.Kind.
type Reconciler struct {
	// Room of the drills.
	Room *Room
	// Installation is the value of the label daytwo.dev/managed-by.
	Installation string
	// Storage says how buckets are reached.
	Storage backupstore.Options
	// Signer signs evidence; nil for none.
	Signer *evidence.Signer

	queue queue
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options run.Options) error {
	r.Room.Kind = r
	return r.Room.SetupWithManager(mgr, options)
}

// TargetKind is the kind DRDrill, for the registry of what works in clusters.
func TargetKind() *targets.Kind {
	return run.TargetKind[*backupv1alpha1.DRDrill, backupv1alpha1.DRDrillStatus](backupv1alpha1.GroupVersion, &Reconciler{})
}

// Name implements run.Kind.
func (r *Reconciler) Name() string { return "DRDrill" }

// New implements run.Kind.
func (r *Reconciler) New() *backupv1alpha1.DRDrill { return &backupv1alpha1.DRDrill{} }

// NewList implements run.Kind.
func (r *Reconciler) NewList() client.ObjectList { return &backupv1alpha1.DRDrillList{} }

// Status implements run.Kind.
func (r *Reconciler) Status(drill *backupv1alpha1.DRDrill) *backupv1alpha1.DRDrillStatus {
	return &drill.Status
}

// CopyStatus implements run.Kind.
func (r *Reconciler) CopyStatus(to, from *backupv1alpha1.DRDrillStatus) { *to = *from.DeepCopy() }

// Keeps implements run.Kind: what is in a cluster of the drill's own goes with the cluster.
func (r *Reconciler) Keeps(drill *backupv1alpha1.DRDrill, _ metav1alpha1.Action) bool {
	return isEphemeral(drill)
}

// RemovesAt implements run.LingeringKind.
func (r *Reconciler) RemovesAt(drill *backupv1alpha1.DRDrill) time.Time {
	keep := drill.Spec.Cleanup.KeepFailedFor
	switch drill.Status.Verdict {
	case backupv1alpha1.DrillPassed, backupv1alpha1.DrillCancelled, backupv1alpha1.DrillSkipped:
		return time.Time{}
	case backupv1alpha1.DrillFailed, backupv1alpha1.DrillInconclusive:
	}
	if keep == nil {
		return time.Time{}
	}
	at := drill.Status.EndedAt.Add(keep.Duration)
	if isEphemeral(drill) {
		at = times.Earliest(at, endOfLife(drill))
	}
	return at
}

// Clusters implements run.Kind. A cluster counts only if the policy of the drill is enrolled in the one that was backed up:
// else anybody could name the cluster of somebody else.
func (r *Reconciler) Clusters(ctx context.Context, drill *backupv1alpha1.DRDrill) ([]metav1alpha1.ClusterReference, error) {
	enrollment, err := enrollmentOf(ctx, r.Room.Client, drill)
	if err != nil || enrollment == nil || isEphemeral(drill) && !isOrdered(drill) {
		return nil, err
	}
	return []metav1alpha1.ClusterReference{targetOf(drill)}, nil
}

// targetOf a drill is the cluster into which it restores.
func targetOf(drill *backupv1alpha1.DRDrill) metav1alpha1.ClusterReference {
	switch drill.Spec.Target.Mode {
	case backupv1alpha1.DrillStandby:
		return metav1alpha1.ClusterReference{Namespace: drill.Spec.ClusterRef.Namespace, Name: drill.Spec.Target.StandbyName}
	case backupv1alpha1.DrillEphemeral:
		return metav1alpha1.ClusterReference{Namespace: drill.Namespace, Name: ephemeralName(drill)}
	case backupv1alpha1.DrillNamespaceMapped:
	}
	return drill.Spec.ClusterRef
}

func targetKey(drill *backupv1alpha1.DRDrill) types.NamespacedName { return run.Key(targetOf(drill)) }
