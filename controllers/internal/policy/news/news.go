// Package news says what is worth telling of a policy beside its status: Events, and a line of the log for each. It is pure, and
// knows no kind.
package news

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// Record is an Event.
type Record struct {
	// Type is Normal or Warning.
	Type string
	// Reason and Action of the Event.
	Reason, Action string
	// Note is for people.
	Note string
	// Condition whose change it tells of, which may go back and forth; empty for none.
	Condition string
}

// Reasons of Events, beside those of conditions.
const (
	ReasonRolloutStarted = "RolloutStarted"
	ReasonReady          = "Ready"
	ReasonAbandoned      = "TargetAbandoned"
	ReasonConfirmed      = "WithdrawalConfirmed"
)

// Actions of Events.
const (
	actionRollOut  = "RollOut"
	actionSelect   = "Observe"
	actionAbandon  = "Abandon"
	actionWithdraw = "Withdraw"
)

// LogLine is the message of the log that goes with a record; the same for each record of a reason.
func (r Record) LogLine() string {
	switch r.Reason {
	case ReasonRolloutStarted:
		return "rollout started"
	case ReasonReady:
		return "rollout finished"
	case metav1alpha1.ReasonTargetsFailed:
		return "rollout failed"
	case metav1alpha1.ReasonStandstill:
		return "rollout stands still"
	case metav1alpha1.ReasonWithdrawalGuard:
		return "withdrawal guard held"
	case ReasonAbandoned:
		return "target abandoned"
	case ReasonConfirmed:
		return "withdrawal confirmed"
	}
	return "policy stalled"
}

// OfStatus tells what is different between two statuses of a policy and worth telling.
func OfStatus(before, after *metav1alpha1.PolicyStatus) []Record {
	var news []Record
	if after.Revision != before.Revision && after.Clusters.Selected.Count > 0 {
		news = append(news, Record{corev1.EventTypeNormal, ReasonRolloutStarted, actionRollOut,
			fmt.Sprintf("revision %s goes out; clusters selected: %d", after.Revision, after.Clusters.Selected.Count), ""})
	}
	if becameTrue(before, after, metav1alpha1.ConditionReady) && after.Clusters.Ready.Count > 0 {
		news = append(news, Record{corev1.EventTypeNormal, ReasonReady, actionRollOut,
			fmt.Sprintf("revision %s is ready in all clusters: %d", after.Revision, after.Clusters.Ready.Count), metav1alpha1.ConditionReady})
	}
	if failed := newlyFailed(before, after); failed != nil {
		news = append(news, Record{corev1.EventTypeWarning, failed.Reason, actionRollOut, failed.Message, metav1alpha1.ConditionReady})
	}
	if stalled := newlyStalled(before, after); stalled != nil {
		news = append(news, Record{corev1.EventTypeWarning, stalled.Reason, actionSelect, stalled.Message, metav1alpha1.ConditionStalled})
	}
	return news
}

// OfAbandoned tells of targets that left something behind.
func OfAbandoned(abandoned []metav1alpha1.AbandonedTarget) []Record {
	var news []Record
	for _, target := range abandoned {
		news = append(news, Record{corev1.EventTypeWarning, ReasonAbandoned, actionAbandon,
			fmt.Sprintf("TenantCluster %s/%s was let go; objects left in it: %d", target.Cluster.Namespace, target.Cluster.Name, target.Objects.Count), ""})
	}
	return news
}

// OfWithdrawal tells that clusters are lost because a person said so.
func OfWithdrawal(withdrawal rollout.Withdrawal) []Record {
	if !withdrawal.Confirmed {
		return nil
	}
	return []Record{{corev1.EventTypeNormal, ReasonConfirmed, actionWithdraw,
		fmt.Sprintf("the annotation %s confirmed that clusters lose their target: %d", metav1alpha1.AnnotationConfirmWithdrawal, withdrawal.Clusters.Count), ""}}
}

// newlyFailed is the Ready condition, if it tells that a rollout failed or stands still, and did not before for that reason.
func newlyFailed(before, after *metav1alpha1.PolicyStatus) *metav1.Condition {
	is := conditions.News(before.Conditions, after.Conditions, metav1alpha1.ConditionReady)
	if is == nil || is.Status != metav1.ConditionFalse || is.Reason != metav1alpha1.ReasonTargetsFailed && is.Reason != metav1alpha1.ReasonStandstill {
		return nil
	}
	return is
}

// newlyStalled is the Stalled condition, if it was not there for the same reason before.
func newlyStalled(before, after *metav1alpha1.PolicyStatus) *metav1.Condition {
	is := conditions.News(before.Conditions, after.Conditions, metav1alpha1.ConditionStalled)
	if is == nil || is.Status != metav1.ConditionTrue {
		return nil
	}
	return is
}

func becameTrue(before, after *metav1alpha1.PolicyStatus, condition string) bool {
	return meta.IsStatusConditionTrue(after.Conditions, condition) && !meta.IsStatusConditionTrue(before.Conditions, condition)
}
