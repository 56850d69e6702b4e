package saasaddon

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
)

// outcome is what people are told.
type outcome struct {
	status addonsv1alpha1.SaaSAddonStatus
	events []announcement
	// again is when to look again without being asked, from now; 0 is never.
	again time.Duration
}

// report sums up what was seen and done. It reads nothing and writes nothing.
func report(seen observed, todo Plan, done applied) outcome {
	after := todo.input.After(done.rollout)
	summary := rollout.Summarize(after)
	verdict := judge(seen, todo.input.Policy, summary, done.err)

	status := *seen.addon.Status.DeepCopy()
	status.ObservedGeneration = seen.addon.Generation
	status.Revision = currentRevision(seen)
	status.Clusters = metav1alpha1.ClusterSummary{
		Selected: summary.Selected, Ready: summary.Ready, Updated: summary.Updated,
		Failed: summary.Failed, Unreachable: summary.Unreachable,
	}
	if seen.chart != nil {
		status.Chart = seen.chart
	}
	var abandoned []metav1alpha1.AbandonedTarget
	status.Abandoned, abandoned = recordAbandoned(status.Abandoned, seen.abandoned, metav1.NewTime(seen.now).Rfc3339Copy())
	status.Withdrawals = after.Withdrawals
	verdict.Write(&status.Conditions, seen.addon.Generation, seen.now)
	if !equality.Semantic.DeepEqual(seen.addon.Status, status) {
		status.Withdrawals = rollout.CurrentWithdrawals(status.Withdrawals, seen.now)
	}
	return outcome{
		status: status,
		events: append(announcements(seen.addon.Status, status, abandoned), confirmation(done.rollout.Withdrawal)...),
		again:  untilNext(seen, todo.Rollout.Again),
	}
}

// judge is the planner's verdict on the clusters, and what stands above it: first what failed just now, then
// what nobody but a person can mend, the withdrawal guard before all else.
func judge(seen observed, policy rollout.Policy, summary rollout.Summary, err error) rollout.Verdict {
	verdict := rollout.Conclude(policy, summary)
	switch {
	case policy.Deleting:
	case seen.problem != nil && summary.Withdrawal.Held:
		verdict.Message += "; " + seen.problem.message
	case seen.problem != nil:
		verdict = withProblem(verdict, seen.problem)
	case len(seen.missing) > 0:
		verdict = withMissing(verdict, seen.missing)
	}
	switch {
	case err != nil && summary.Withdrawal.Held:
		verdict.Message += "; " + oneLine(err)
	case err != nil:
		verdict.Ready, verdict.Reason = metav1.ConditionFalse, metav1alpha1.ReasonFailed
		verdict.Message = oneLine(err) + "; " + verdict.Message
		verdict.Reconciling, verdict.Stalled = true, false
	}
	suspended := suspension.Of(seen.addon.Spec.Suspend, seen.addon.Annotations, seen.now)
	if suspended.Active && !policy.Deleting {
		verdict.Message += "; " + suspended.String()
	}
	if suspended.Complaint != "" {
		verdict.Message += "; " + suspended.Complaint
	}
	return verdict
}

// withProblem: what a person has to mend is told first, unless the add-on is none the worse for it.
func withProblem(verdict rollout.Verdict, found *problem) rollout.Verdict {
	if found.harmless && found.passing {
		verdict.Message = found.message + "; until then the add-on stays at what it was resolved to: " + verdict.Message
		return verdict
	}
	verdict.Ready, verdict.Reason = metav1.ConditionFalse, found.reason
	verdict.Message = found.message + "; until then targets stay as they are: " + verdict.Message
	verdict.Stalled, verdict.Reconciling = !found.passing, found.passing
	return verdict
}

// withMissing: an add-on is not ready in a cluster that does not exist.
func withMissing(verdict rollout.Verdict, missing []string) rollout.Verdict {
	if verdict.Ready == metav1.ConditionTrue {
		verdict.Ready, verdict.Reason = metav1.ConditionFalse, addonsv1alpha1.ReasonReferenceNotFound
	}
	tally := rollout.Count(missing)
	names := strings.Join(tally.Names, ", ")
	if int(tally.Count) > len(tally.Names) {
		names += fmt.Sprintf(" and %d more", int(tally.Count)-len(tally.Names))
	}
	verdict.Message += fmt.Sprintf("; spec.clusterNames names TenantClusters that do not exist: %s", names)
	return verdict
}

// untilNext is when a plan may differ by itself, or a chart is to be fetched again.
func untilNext(seen observed, again time.Time) time.Duration {
	if seen.problem != nil {
		again = rollout.Earlier(again, seen.problem.retry)
	}
	if again.IsZero() {
		return 0
	}
	return max(again.Sub(seen.now), time.Millisecond)
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// announcement is an Event.
type announcement struct {
	kind   string
	reason string
	action string
	note   string
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

// announcements tells what is different between two statuses and worth an Event.
func announcements(before, after addonsv1alpha1.SaaSAddonStatus, abandoned []metav1alpha1.AbandonedTarget) []announcement {
	var news []announcement
	if after.Revision != before.Revision && after.Clusters.Selected.Count > 0 {
		news = append(news, announcement{corev1.EventTypeNormal, eventRolloutStarted, actionRollOut,
			fmt.Sprintf("revision %s goes out; clusters selected: %d", after.Revision, after.Clusters.Selected.Count)})
	}
	if becameTrue(before, after, metav1alpha1.ConditionReady) && after.Clusters.Ready.Count > 0 {
		news = append(news, announcement{corev1.EventTypeNormal, eventReady, actionRollOut,
			fmt.Sprintf("revision %s is ready in all clusters: %d", after.Revision, after.Clusters.Ready.Count)})
	}
	if stalled := newlyStalled(before, after); stalled != nil {
		news = append(news, announcement{corev1.EventTypeWarning, stalled.Reason, actionSelect, stalled.Message})
	}
	for _, target := range abandoned {
		news = append(news, announcement{corev1.EventTypeWarning, eventAbandoned, actionAbandon,
			fmt.Sprintf("TenantCluster %s/%s was let go; objects left in it: %d", target.Cluster.Namespace, target.Cluster.Name, target.Objects.Count)})
	}
	return news
}

// newlyStalled is the Stalled condition, if it was not there for the same reason before.
func newlyStalled(before, after addonsv1alpha1.SaaSAddonStatus) *metav1.Condition {
	was := meta.FindStatusCondition(before.Conditions, metav1alpha1.ConditionStalled)
	is := meta.FindStatusCondition(after.Conditions, metav1alpha1.ConditionStalled)
	if is == nil || is.Status != metav1.ConditionTrue || (was != nil && was.Status == is.Status && was.Reason == is.Reason) {
		return nil
	}
	return is
}

// confirmation tells that clusters are lost because a person said so.
func confirmation(withdrawal rollout.Withdrawal) []announcement {
	if !withdrawal.Confirmed {
		return nil
	}
	return []announcement{{corev1.EventTypeNormal, eventConfirmed, actionWithdraw,
		fmt.Sprintf("the annotation %s confirmed that clusters lose their target: %d", metav1alpha1.AnnotationConfirmWithdrawal, withdrawal.Clusters.Count)}}
}

func becameTrue(before, after addonsv1alpha1.SaaSAddonStatus, condition string) bool {
	return meta.IsStatusConditionTrue(after.Conditions, condition) && !meta.IsStatusConditionTrue(before.Conditions, condition)
}
