package target

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// reportReady sums up, the worst first.
func reportReady(next Status, f Findings, applied bool, worst *unhealthy) {
	o, trouble := f.Observation, f.Trouble
	failed, awaited := healthOf(f, worst)
	next.unset(metav1alpha1.ConditionStalled)
	next.unset(metav1alpha1.ConditionReconciling)
	drifted := meta.FindStatusCondition(next.Conditions, metav1alpha1.ConditionDrifted)
	switch {
	case o.isDeleted():
		next.progress(o, metav1alpha1.ReasonDeleting, deletionMessage(next, o, trouble))
	case trouble != nil && trouble.Stalled:
		next.set(o, metav1alpha1.ConditionReady, metav1.ConditionFalse, trouble.Reason, trouble.Message)
		next.set(o, metav1alpha1.ConditionStalled, metav1.ConditionTrue, trouble.Reason, trouble.Message)
	case trouble != nil:
		next.progress(o, trouble.Reason, trouble.Message)
	case !applied && o.Suspension.Active:
		next.set(o, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonSuspended,
			fmt.Sprintf("%s; revision %s waits", o.Suspension, o.revision()))
	case !applied:
		next.progress(o, metav1alpha1.ReasonProgressing, "applying revision "+o.revision())
	case failed != nil:
		next.set(o, metav1alpha1.ConditionReady, metav1.ConditionFalse, failed.Reason, failed.Message)
	case len(o.Unknown) > 0:
		next.set(o, metav1alpha1.ConditionReady, metav1.ConditionUnknown, metav1alpha1.ReasonKindUnavailable, o.UnknownKinds())
	case awaited != nil:
		next.progress(o, awaited.Reason, awaited.Message)
	case drifted != nil && drifted.Reason == metav1alpha1.ReasonContested:
		next.progress(o, drifted.Reason, drifted.Message)
	default:
		next.set(o, metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, readyMessage(next, f, drifted))
	}
}

func readyMessage(next Status, f Findings, drifted *metav1.Condition) string {
	o := f.Observation
	message := cmp.Or(f.Summary, fmt.Sprintf("%d objects as declared", len(next.Inventory)))
	if drifted != nil && drifted.Status == metav1.ConditionTrue {
		message = drifted.Message
	}
	if o.Suspension.Active {
		message = o.Suspension.String() + "; " + message
	}
	if o.Suspension.ParseError != "" {
		message += "; " + o.Suspension.ParseError
	}
	return message
}

// reportUnreachable leaves nothing green on old news.
func reportUnreachable(next Status, o Observation) {
	message, reason := o.Unreachable, metav1alpha1.ReasonClusterUnreachable
	switch {
	case !o.isDeleted():
	case o.IsLeft():
		reason = metav1alpha1.ReasonAbandoned
		message = fmt.Sprintf("%d objects are left in the cluster (%s): %s; an OrphanRecord lists them", len(o.Inventory), apply.Names(o.Inventory.Sorted()), o.Unreachable)
	default:
		message = fmt.Sprintf("%d objects are still in the cluster (%s): %s; they are removed when it answers%s, or set the annotation %s: \"true\" to leave them",
			len(o.Inventory), apply.Names(o.Inventory.Sorted()), o.Unreachable, o.GivenUpWhen(), metav1alpha1.AnnotationAbandon)
	}
	for _, condition := range []string{
		metav1alpha1.ConditionReady, metav1alpha1.ConditionApplied, metav1alpha1.ConditionHealthy, metav1alpha1.ConditionDrifted,
	} {
		next.set(o, condition, metav1.ConditionUnknown, reason, message)
	}
	next.unset(metav1alpha1.ConditionStalled)
	next.unset(metav1alpha1.ConditionReconciling)
}

func deletionMessage(next Status, o Observation, trouble *Verdict) string {
	if o.AwaitsBackup() && len(next.Inventory) > 0 {
		return fmt.Sprintf("%d objects stay until the final backup of TenantCluster %s is made; to remove them without one, set its spec.deletion.finalBackup to false",
			len(next.Inventory), ClusterKey(o.target))
	}
	message := fmt.Sprintf("removing %d objects", len(next.Inventory))
	if trouble != nil {
		message += ": " + trouble.Message
	}
	return message
}
