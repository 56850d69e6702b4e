package saasaddon

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/apis/common"
	"github.com/daytwo-dev/daytwo/controllers/internal/fanout"
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
	summary := fanout.Summarize(todo.input.After(done.rollout))
	verdict := judge(seen, todo.input.Policy, summary, done.err)

	status := *seen.addon.Status.DeepCopy()
	status.ObservedGeneration = seen.addon.Generation
	status.Revision = todo.input.Policy.Revision
	status.Clusters = addonsv1alpha1.ClusterSummary{
		Selected: summary.Selected, Ready: summary.Ready, Updated: summary.Updated,
		Failed: summary.Failed, Unreachable: summary.Unreachable,
	}
	if seen.chart != nil {
		status.Chart = seen.chart
	}
	var abandoned []addonsv1alpha1.AbandonedTarget
	status.Abandoned, abandoned = recordAbandoned(status.Abandoned, seen.abandoned, metav1.NewTime(seen.now).Rfc3339Copy())
	verdict.Write(&status.Conditions, seen.addon.Generation, seen.now)

	return outcome{
		status: status,
		events: announcements(seen.addon.Status, status, abandoned),
		again:  untilNext(seen),
	}
}

// judge is fanout's verdict on the clusters, and what stands above it: first what nobody but a
// person can mend, then what failed just now.
func judge(seen observed, policy fanout.Policy, summary fanout.Summary, err error) fanout.Verdict {
	verdict := fanout.Judge(policy, summary)
	switch {
	case policy.Deleting:
	case seen.problem != nil && seen.problem.harmless && seen.problem.passing:
		verdict.Message = seen.problem.message + "; until then the add-on stays at what it was resolved to: " + verdict.Message
	case seen.problem != nil:
		verdict.Ready, verdict.Reason = metav1.ConditionFalse, seen.problem.reason
		verdict.Message = seen.problem.message + "; until then targets stay as they are: " + verdict.Message
		verdict.Stalled, verdict.Reconciling = !seen.problem.passing, seen.problem.passing
	case len(seen.missing) > 0:
		verdict = withMissing(verdict, seen.missing)
	}
	if err != nil {
		verdict.Ready, verdict.Reason = metav1.ConditionFalse, common.ReasonFailed
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

// withMissing: an add-on is not ready in a cluster that does not exist.
func withMissing(verdict fanout.Verdict, missing []string) fanout.Verdict {
	if verdict.Ready == metav1.ConditionTrue {
		verdict.Ready, verdict.Reason = metav1.ConditionFalse, addonsv1alpha1.ReasonReferenceNotFound
	}
	tally := fanout.Tally(missing)
	names := strings.Join(tally.Names, ", ")
	if int(tally.Count) > len(tally.Names) {
		names += fmt.Sprintf(" and %d more", int(tally.Count)-len(tally.Names))
	}
	verdict.Message += fmt.Sprintf("; spec.clusterNames names TenantClusters that do not exist: %s", names)
	return verdict
}

// untilNext is when the first of the suspensions that matter ends by itself, or a chart is to be
// fetched again.
func untilNext(seen observed) time.Duration {
	next := suspension.Of(false, seen.addon.Annotations, seen.now).Until
	for i := range seen.clusters {
		next = earlier(next, suspension.Of(false, seen.clusters[i].Annotations, seen.now).Until)
	}
	if seen.problem != nil {
		next = earlier(next, seen.problem.retry)
	}
	if next.IsZero() {
		return 0
	}
	return max(next.Sub(seen.now), time.Millisecond)
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

	actionRollOut = "RollOut"
	actionSelect  = "Observe"
	actionAbandon = "Abandon"
)

// announcements tells what is different between two statuses and worth an Event.
func announcements(before, after addonsv1alpha1.SaaSAddonStatus, abandoned []addonsv1alpha1.AbandonedTarget) []announcement {
	var news []announcement
	if after.Revision != before.Revision && after.Clusters.Selected.Count > 0 {
		news = append(news, announcement{corev1.EventTypeNormal, eventRolloutStarted, actionRollOut,
			fmt.Sprintf("revision %s goes out; clusters selected: %d", after.Revision, after.Clusters.Selected.Count)})
	}
	if becameTrue(before, after, common.ConditionReady) && after.Clusters.Ready.Count > 0 {
		news = append(news, announcement{corev1.EventTypeNormal, eventReady, actionRollOut,
			fmt.Sprintf("revision %s is ready in all clusters: %d", after.Revision, after.Clusters.Ready.Count)})
	}
	if becameTrue(before, after, common.ConditionStalled) {
		stalled := meta.FindStatusCondition(after.Conditions, common.ConditionStalled)
		news = append(news, announcement{corev1.EventTypeWarning, stalled.Reason, actionSelect, stalled.Message})
	}
	for _, target := range abandoned {
		news = append(news, announcement{corev1.EventTypeWarning, eventAbandoned, actionAbandon,
			fmt.Sprintf("TenantCluster %s/%s was let go; objects left in it: %d", target.Cluster.Namespace, target.Cluster.Name, target.Objects.Count)})
	}
	return news
}

func becameTrue(before, after addonsv1alpha1.SaaSAddonStatus, condition string) bool {
	return meta.IsStatusConditionTrue(after.Conditions, condition) && !meta.IsStatusConditionTrue(before.Conditions, condition)
}

// earlier is the earlier of two times; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
