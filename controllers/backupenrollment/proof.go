package backupenrollment

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/drills"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=drdrills,verbs=get;list;watch

// drillIndex finds the drills of an enrollment, in its namespace.
const drillIndex = "daytwo.drilled"

// drilledBy is the value of the index for the drills of a policy in a cluster.
func drilledBy(policy string, cluster types.NamespacedName) string {
	return policy + "/" + cluster.String()
}

func indexDrill(object client.Object) []string {
	drill := object.(*backupv1alpha1.DRDrill)
	ref := drill.Spec.ClusterRef
	return []string{drilledBy(drill.Spec.PolicyName, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})}
}

// watchDrills has an enrollment looked at again when a drill of it has come to an end, or is gone.
func (r *Reconciler) watchDrills(mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &backupv1alpha1.DRDrill{}, drillIndex, indexDrill); err != nil {
		return fmt.Errorf("index DRDrills by what they rehearse: %w", err)
	}
	ended := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*backupv1alpha1.DRDrill).Status, e.ObjectNew.(*backupv1alpha1.DRDrill).Status
			return before.EndedAt.IsZero() != after.EndedAt.IsZero() || before.FinishedAt.IsZero() != after.FinishedAt.IsZero()
		},
	}
	r.Room.AddWatches = func(b *builder.Builder) {
		b.Watches(&backupv1alpha1.DRDrill{}, handler.EnqueueRequestsFromMapFunc(r.rehearsedBy), builder.WithPredicates(ended))
	}
	return nil
}

// rehearsedBy is the enrollment of a drill.
func (r *Reconciler) rehearsedBy(ctx context.Context, object client.Object) (requests []reconcile.Request) {
	drill, list := object.(*backupv1alpha1.DRDrill), &backupv1alpha1.BackupEnrollmentList{}
	err := r.Room.Client.List(ctx, list, client.UnsafeDisableDeepCopy, client.InNamespace(drill.Namespace), client.MatchingLabels{
		metav1alpha1.LabelPolicy:  drill.Spec.PolicyName,
		metav1alpha1.LabelCluster: drill.Spec.ClusterRef.Name, metav1alpha1.LabelClusterNamespace: drill.Spec.ClusterRef.Namespace,
	})
	if err != nil {
		r.Room.Log.Error(err, "the enrollment of a drill is not told of its end", "object", client.ObjectKeyFromObject(drill).String())
	}
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// proof is what drills showed, and how the plans for them stand.
type proof struct {
	drills.Plans

	// last drill that came to a result; nil if there was none.
	last *backupv1alpha1.DrillResult
	// evidence is the end of the chain; nil if there is none.
	evidence *backupv1alpha1.EvidenceChain
	// restored are the backups that drills work with now.
	restored []string
}

// proofOf an enrollment is what is on record, and what drills showed since. What drills showed that people deleted stays on
// record.
func (r *Reconciler) proofOf(ctx context.Context, o *observation) (proof, error) {
	list := &backupv1alpha1.DRDrillList{}
	err := r.Room.Client.List(ctx, list, client.UnsafeDisableDeepCopy, client.InNamespace(o.Target.Namespace),
		client.MatchingFields{drillIndex: drilledBy(veleroobjects.PolicyOf(o.Target).Name, target.ClusterKey(o.Target))})
	if err != nil {
		return proof{}, fmt.Errorf("list the drills: %w", err)
	}
	found := proof{last: drills.LatestResult(o.Status.LastDrill, list.Items), Plans: drills.Plan(drills.Situation{Enrollment: o.Target, Recorded: o.Status.DrillPlans, Drills: list.Items, Now: o.Now}), restored: drills.RestoredBy(list.Items)}
	if end := backupv1alpha1.FollowEvidence(o.Status.Evidence, list.Items); end.Head != "" {
		found.evidence = &end
	}
	return found, nil
}

// provenFinding is whether a drill has shown that the backups can be restored.
func provenFinding(o *observation) finding {
	f := finding{kind: backupv1alpha1.ConditionRecoveryProven, status: metav1.ConditionUnknown, reason: backupv1alpha1.ReasonNoDrill, message: "no drill came to a result yet"}
	since, last := o.Target.CreationTimestamp.Time, o.Extra.proof.last
	if last != nil {
		since = last.EndedAt.Time
	}
	if age := o.Target.Spec.Objectives.MaxDrillAge; age != nil {
		if f.due = since.Add(age.Duration); !o.Now.Before(f.due) {
			f.status, f.reason, f.stalled, f.due = metav1.ConditionFalse, backupv1alpha1.ReasonDrillOverdue, true, time.Time{}
			f.message = fmt.Sprintf("no drill has come to a result since %s: create a DRDrill", since.UTC().Format(time.RFC3339))
			return f
		}
	}
	switch {
	case last == nil:
	case last.Verdict == backupv1alpha1.DrillPassed:
		f.status, f.reason, f.message = metav1.ConditionTrue, backupv1alpha1.ReasonDrillPassed, fmt.Sprintf("DRDrill %s restored backup %s", last.Name, last.Backup)
	default:
		f.status, f.reason, f.stalled, f.message = metav1.ConditionFalse, backupv1alpha1.ReasonDrillFailed, true, fmt.Sprintf("DRDrill %s: %s", last.Name, last.Message)
	}
	return f
}

// rtoFinding is whether the last drill took no longer than a recovery may take.
func rtoFinding(o *observation) finding {
	f := finding{kind: backupv1alpha1.ConditionRTOMet, status: metav1.ConditionUnknown}
	objective, last := o.Target.Spec.Objectives.RTO, o.Extra.proof.last
	switch {
	case objective == nil:
		f.reason, f.message = backupv1alpha1.ReasonNoObjective, "the policy sets no spec.objectives.rto"
	case last == nil || last.Verdict != backupv1alpha1.DrillPassed || last.RecoveryTime == nil:
		f.reason, f.message = backupv1alpha1.ReasonNoDrill, "no drill has measured a recovery"
	case last.RecoveryTime.Duration > objective.Duration:
		f.status, f.reason, f.stalled = metav1.ConditionFalse, backupv1alpha1.ReasonRTOMissed, true
		f.message = fmt.Sprintf("DRDrill %s took %s, and a recovery may take %s", last.Name, last.RecoveryTime.Duration, objective.Duration)
	default:
		f.status, f.reason, f.message = metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, fmt.Sprintf("DRDrill %s took %s", last.Name, last.RecoveryTime.Duration)
	}
	return f
}
