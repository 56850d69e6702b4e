package target

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
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
		next.set(o, metav1alpha1.ConditionReady, metav1.ConditionFalse, o.Suspension.Reason(),
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
	message := cmp.Or(f.Summary, plural.Of(len(next.Inventory), "object")+" as declared")
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
	message, reason := o.Unreachable, o.UnreachableReason()
	switch {
	case !o.isDeleted():
	case o.IsLeft():
		reason = metav1alpha1.ReasonAbandoned
		message = fmt.Sprintf("%s left in the cluster (%s): %s; an OrphanRecord lists them", plural.Of(len(o.Inventory), "object|is|are"), apply.Names(o.Inventory.Sorted()), o.Unreachable)
	default:
		message = fmt.Sprintf("%s still in the cluster (%s): %s; they are removed when it answers%s, or set the annotation %s: \"true\" to leave them",
			plural.Of(len(o.Inventory), "object|is|are"), apply.Names(o.Inventory.Sorted()), o.Unreachable, o.GivenUpWhen(), metav1alpha1.AnnotationAbandon)
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
		return fmt.Sprintf("%s until the final backup of TenantCluster %s is made; to remove them without one, set its spec.deletion.finalBackup to false",
			plural.Of(len(next.Inventory), "object|stays|stay"), ClusterKey(o.target))
	}
	message := "removing " + plural.Of(len(next.Inventory), "object")
	if trouble != nil {
		message += ": " + trouble.Message
	}
	return message
}
