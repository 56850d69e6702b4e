package policy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// eventRecord is an Event.
type eventRecord struct {
	kind   string
	reason string
	action string
	note   string
	// condition whose change it tells of, which may go back and forth; empty for none.
	condition string
}

// Reasons and actions of Events, beside the reasons of Stalled.
const (
	eventRolloutStarted = "RolloutStarted"
	eventReady          = "Ready"
	eventAbandoned      = "TargetAbandoned"
	eventConfirmed      = "WithdrawalConfirmed"

	actionRollOut  = "RollOut"
	actionSelect   = "Observe"
	actionAbandon  = "Abandon"
	actionWithdraw = "Withdraw"
)

// statusEvents tells what is different between two statuses and worth an Event.
func statusEvents(before, after *metav1alpha1.PolicyStatus) []eventRecord {
	var news []eventRecord
	if after.Revision != before.Revision && after.Clusters.Selected.Count > 0 {
		news = append(news, eventRecord{corev1.EventTypeNormal, eventRolloutStarted, actionRollOut,
			fmt.Sprintf("revision %s goes out; clusters selected: %d", after.Revision, after.Clusters.Selected.Count), ""})
	}
	if becameTrue(before, after, metav1alpha1.ConditionReady) && after.Clusters.Ready.Count > 0 {
		news = append(news, eventRecord{corev1.EventTypeNormal, eventReady, actionRollOut,
			fmt.Sprintf("revision %s is ready in all clusters: %d", after.Revision, after.Clusters.Ready.Count), metav1alpha1.ConditionReady})
	}
	if stalled := newlyStalled(before, after); stalled != nil {
		news = append(news, eventRecord{corev1.EventTypeWarning, stalled.Reason, actionSelect, stalled.Message, metav1alpha1.ConditionStalled})
	}
	return news
}

// abandonedEvents tells of targets that left something behind.
func abandonedEvents(abandoned []metav1alpha1.AbandonedTarget) []eventRecord {
	var news []eventRecord
	for _, target := range abandoned {
		news = append(news, eventRecord{corev1.EventTypeWarning, eventAbandoned, actionAbandon,
			fmt.Sprintf("TenantCluster %s/%s was let go; objects left in it: %d", target.Cluster.Namespace, target.Cluster.Name, target.Objects.Count), ""})
	}
	return news
}

// emit sends Events of a policy.
func (r *Reconciler[P, T]) emit(policy P, news []eventRecord) {
	for _, one := range news {
		r.Recorder.Eventf(policy, nil, one.kind, one.reason, one.action, "%s", one.note)
	}
}

// newlyStalled is the Stalled condition, if it was not there for the same reason before.
func newlyStalled(before, after *metav1alpha1.PolicyStatus) *metav1.Condition {
	was := meta.FindStatusCondition(before.Conditions, metav1alpha1.ConditionStalled)
	is := meta.FindStatusCondition(after.Conditions, metav1alpha1.ConditionStalled)
	if is == nil || is.Status != metav1.ConditionTrue || (was != nil && was.Status == is.Status && was.Reason == is.Reason) {
		return nil
	}
	return is
}

// confirmationEvents tells that clusters are lost because a person said so.
func confirmationEvents(withdrawal rollout.Withdrawal) []eventRecord {
	if !withdrawal.Confirmed {
		return nil
	}
	return []eventRecord{{corev1.EventTypeNormal, eventConfirmed, actionWithdraw,
		fmt.Sprintf("the annotation %s confirmed that clusters lose their target: %d", metav1alpha1.AnnotationConfirmWithdrawal, withdrawal.Clusters.Count), ""}}
}

func becameTrue(before, after *metav1alpha1.PolicyStatus, condition string) bool {
	return meta.IsStatusConditionTrue(after.Conditions, condition) && !meta.IsStatusConditionTrue(before.Conditions, condition)
}
