package addonrelease

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/brief"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// reportReady sums up, the worst first.
func reportReady(next *addonsv1alpha1.AddonReleaseStatus, o observation, trouble *verdict, applied bool, worst *unhealthy) {
	unset(next, metav1alpha1.ConditionStalled)
	unset(next, metav1alpha1.ConditionReconciling)
	drifted := meta.FindStatusCondition(next.Conditions, addonsv1alpha1.ConditionDrifted)
	switch {
	case !o.release.DeletionTimestamp.IsZero():
		progress(next, o, metav1alpha1.ReasonDeleting, deletionMessage(next, o, trouble))
	case trouble != nil && trouble.stalled:
		set(next, o, metav1alpha1.ConditionReady, metav1.ConditionFalse, trouble.reason, trouble.message)
		set(next, o, metav1alpha1.ConditionStalled, metav1.ConditionTrue, trouble.reason, trouble.message)
	case trouble != nil:
		progress(next, o, trouble.reason, trouble.message)
	case !applied && o.Suspension.Active:
		set(next, o, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonSuspended,
			fmt.Sprintf("%s; revision %s waits", o.Suspension, o.release.Spec.Revision))
	case !applied:
		progress(next, o, metav1alpha1.ReasonProgressing, "applying revision "+o.release.Spec.Revision)
	case worst != nil && worst.Status == status.FailedStatus:
		set(next, o, metav1alpha1.ConditionReady, metav1.ConditionFalse, addonsv1alpha1.ReasonUnhealthy, worst.message())
	case len(o.Unknown) > 0:
		set(next, o, metav1alpha1.ConditionReady, metav1.ConditionUnknown, addonsv1alpha1.ReasonKindUnavailable, o.UnknownKinds())
	case worst != nil:
		progress(next, o, metav1alpha1.ReasonProgressing, worst.message())
	case drifted != nil && drifted.Reason == addonsv1alpha1.ReasonFighting:
		progress(next, o, drifted.Reason, drifted.Message)
	default:
		set(next, o, metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, readyMessage(next, o, drifted))
	}
}

func readyMessage(next *addonsv1alpha1.AddonReleaseStatus, o observation, drifted *metav1.Condition) string {
	message := fmt.Sprintf("%d objects as declared", len(next.Inventory))
	if drifted != nil && drifted.Status == metav1.ConditionTrue {
		message = drifted.Message
	}
	if o.Suspension.Active {
		message = o.Suspension.String() + "; " + message
	}
	if o.Suspension.Complaint != "" {
		message += "; " + o.Suspension.Complaint
	}
	return message
}

// reportUnreachable leaves nothing green on old news.
func reportUnreachable(next *addonsv1alpha1.AddonReleaseStatus, o observation) {
	message, reason := o.Unreachable, metav1alpha1.ReasonClusterUnreachable
	switch {
	case o.release.DeletionTimestamp.IsZero():
	case o.IsLeft():
		reason = metav1alpha1.ReasonAbandoned
		message = fmt.Sprintf("%d objects are left in the cluster (%s): %s; the ledger %s lists them", len(o.Inventory), apply.Names(o.Inventory.Sorted()), o.Unreachable, orphans.Name)
	default:
		message = fmt.Sprintf("%d objects are still in the cluster (%s): %s; they are removed when it answers%s, or set the annotation %s: \"true\" to leave them",
			len(o.Inventory), apply.Names(o.Inventory.Sorted()), o.Unreachable, o.GivenUpWhen(), metav1alpha1.AnnotationAbandon)
	}
	for _, condition := range []string{
		metav1alpha1.ConditionReady, addonsv1alpha1.ConditionApplied, addonsv1alpha1.ConditionHealthy, addonsv1alpha1.ConditionDrifted,
	} {
		set(next, o, condition, metav1.ConditionUnknown, reason, message)
	}
	unset(next, metav1alpha1.ConditionStalled)
	unset(next, metav1alpha1.ConditionReconciling)
}

// progress says not ready, and that somebody is at it.
func progress(next *addonsv1alpha1.AddonReleaseStatus, o observation, reason, message string) {
	set(next, o, metav1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	set(next, o, metav1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
}

// maxMessage keeps one condition from filling the screen, in bytes; the API allows 32768.
const maxMessage = 1024

func set(next *addonsv1alpha1.AddonReleaseStatus, o observation, condition string, is metav1.ConditionStatus, reason, message string) {
	message = brief.Message(message, maxMessage)
	meta.SetStatusCondition(&next.Conditions, metav1.Condition{
		Type: condition, Status: is, Reason: reason, Message: message,
		ObservedGeneration: o.release.Generation, LastTransitionTime: metav1.NewTime(o.Now),
	})
}

func unset(next *addonsv1alpha1.AddonReleaseStatus, condition string) {
	meta.RemoveStatusCondition(&next.Conditions, condition)
}

func deletionMessage(next *addonsv1alpha1.AddonReleaseStatus, o observation, trouble *verdict) string {
	if o.AwaitsBackup() && len(next.Inventory) > 0 {
		return fmt.Sprintf("%d objects stay until the final backup of TenantCluster %s is made; to remove them without one, set its spec.deletion.finalBackup to false",
			len(next.Inventory), target.ClusterKey(o.release))
	}
	message := fmt.Sprintf("removing %d objects", len(next.Inventory))
	if trouble != nil {
		message += ": " + trouble.message
	}
	return message
}
