package rollout

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
)

// Verdict is what a policy's conditions say, in the sense of kstatus.
type Verdict struct {
	Ready   metav1.ConditionStatus
	Reason  string
	Message string
	// Reconciling: work is under way.
	Reconciling bool
	// Stalled: no further try helps until a person changes something.
	Stalled bool
}

// Conclude sums the clusters up: any failed target makes the policy not ready; else any
// unreachable or unusable cluster makes it unknown; else it is ready once all clusters are. A withdrawal that is
// held back stands above all: only a person can mend it.
func Conclude(policy Policy, summary Summary) Verdict {
	verdict := ofClusters(summary)
	verdict.Reconciling = summary.Progressing.Count > 0 || policy.Deleting
	if summary.Stopped > 0 {
		verdict.Ready, verdict.Reason = metav1.ConditionFalse, metav1alpha1.ReasonRolloutStopped
		verdict.Message = stopped(policy, summary) + "; " + verdict.Message
		verdict.Stalled, verdict.Reconciling = true, false
	}
	if policy.Deleting {
		verdict.Ready, verdict.Reason, verdict.Message = metav1.ConditionFalse, metav1alpha1.ReasonDeleting, "being deleted"
	}
	if summary.Terminating.Count > 0 {
		verdict.Message += "; still to be removed from " + describe(summary.Terminating)
	}
	if summary.FirstObstacle != "" {
		verdict.Message += "; " + summary.FirstObstacle
	}
	for _, gate := range policy.Gates {
		if gate.Blocks&Delete != 0 && summary.Terminating.Count > 0 {
			verdict.Message += "; " + gate.Message
		}
	}
	if summary.Withdrawal.Held {
		verdict.Ready, verdict.Reason = metav1.ConditionFalse, metav1alpha1.ReasonWithdrawalGuard
		verdict.Message = summary.Withdrawal.String() + "; " + verdict.Message
		verdict.Stalled, verdict.Reconciling = true, false
	}
	return verdict
}

// stopped tells why a rollout does not go on, and the ways out.
func stopped(policy Policy, summary Summary) string {
	raise := "spec.rollout.maxConcurrent"
	if policy.Shared {
		raise = "spec.rollout.maxFailures"
	}
	return fmt.Sprintf("the rollout has stopped: failed clusters hold the slots, and %s still to be changed. "+
		"Correct the policy, mend the failed clusters or select them no more, or raise %s", plural.Of(summary.Stopped, "cluster|is|are"), raise)
}

func ofClusters(s Summary) Verdict {
	progress := fmt.Sprintf("%d of %d clusters updated, %d ready", s.Updated.Count, s.Selected.Count, s.Ready.Count)
	gates := ""
	for _, waiting := range s.Waiting {
		gates += waiting.Message + " in " + describe(waiting.Clusters) + "; "
	}
	reason := metav1alpha1.ReasonRollingOut
	if s.Standing.Count > 0 {
		reason = metav1alpha1.ReasonStandstill
		gates = fmt.Sprintf("stands still in %s; %s: %s; ", describe(s.Standing), s.Standing.Names[0], s.FirstStanding) + gates
	}
	switch {
	case s.Failed.Count > 0:
		message := "failed in " + describe(s.Failed)
		if s.FirstFailure != "" {
			message += fmt.Sprintf("; %s: %s", s.Failed.Names[0], s.FirstFailure)
		}
		return Verdict{Ready: metav1.ConditionFalse, Reason: metav1alpha1.ReasonTargetsFailed, Message: message + "; " + gates + progress}
	case s.Unreachable.Count+s.Unusable.Count > 0:
		reason, message := s.unknown()
		return Verdict{Ready: metav1.ConditionUnknown, Reason: reason, Message: message + gates + progress}
	case s.Progressing.Count > 0:
		return Verdict{Ready: metav1.ConditionFalse, Reason: reason, Message: gates + progress}
	case len(s.Waiting) > 0:
		return Verdict{Ready: metav1.ConditionFalse, Reason: s.Waiting[0].Reason, Message: gates + progress}
	case s.Selected.Count == 0:
		return Verdict{Ready: metav1.ConditionTrue, Reason: metav1alpha1.ReasonNoClusters, Message: "no TenantCluster is selected: the selectors of the spec match the labels and names of none"}
	}
	return Verdict{Ready: metav1.ConditionTrue, Reason: metav1alpha1.ReasonSucceeded, Message: "ready in " + plural.Of(s.Selected.Count, "cluster")}
}

// unknown tells of the clusters of which nothing is known. The message ends where the next part of one begins.
func (s Summary) unknown() (reason, message string) {
	if s.Unreachable.Count > 0 {
		reason, message = metav1alpha1.ReasonClusterUnreachable, "no answer from "+describe(s.Unreachable)+"; "
	}
	if s.Unusable.Count > 0 {
		reason = cmp.Or(reason, metav1alpha1.ReasonClusterUnusable)
		message += "unknown in " + describe(s.Unusable) + "; "
	}
	if s.FirstUnusable != "" {
		message += s.FirstUnusable + "; "
	}
	return reason, message
}

// Write sets the conditions Ready, Reconciling and Stalled. The transition time changes with
// the status only.
func (v Verdict) Write(list *[]metav1.Condition, generation int64, now time.Time) {
	var beside []string
	if v.Reconciling {
		beside = append(beside, metav1alpha1.ConditionReconciling)
	}
	if v.Stalled {
		beside = append(beside, metav1alpha1.ConditionStalled)
	}
	conditions.List{Conditions: list, Generation: generation, Now: now}.Summarize(v.Ready, v.Reason, v.Message, beside...)
}

// describe is a count in words: "2 clusters (a, b)".
func describe(count metav1alpha1.ClusterCount) string {
	names := strings.Join(count.Names, ", ")
	if int(count.Count) > len(count.Names) {
		names += ", …"
	}
	return fmt.Sprintf("%s (%s)", plural.Of(count.Count, "cluster"), names)
}
