package policy

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/abandoned"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/news"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/unwritten"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// report is what people are told.
type report[P Policy] struct {
	// status is a policy that has its identity and its new status only.
	status P
	// sum writes what the kind's status tells of the targets into a policy; nil for nothing.
	sum    func(policy P)
	events []news.Record
	// again is when to look again without being asked, from now; 0 is never.
	again time.Duration
	// failed: something went wrong. What is told of that is not put off, since the next try follows at its own pace.
	failed bool
}

// newReport sums up what was observed and done. It reads nothing and writes nothing.
func newReport[P Policy, T Target](kind Kind[P, T], o observation[P, T], p plan[P], done result) report[P] {
	after := p.input.After(done.rollout)
	summary := rollout.Summarize(after)
	err := done.err
	if err == nil {
		err = unwritten.First(o.unwritten, after)
	}
	verdict := conclude(o, p.input.Policy, summary, err)

	before := o.policy.GetPolicyStatus()
	changed := statusOnly(kind, o.policy)
	status := changed.GetPolicyStatus()
	status.ObservedGeneration = o.policy.GetGeneration()
	status.Revision = currentRevision(o)
	status.Clusters = metav1alpha1.ClusterSummary{
		Selected: summary.Selected, Ready: summary.Ready, Updated: summary.Updated,
		Failed: summary.Failed, Unreachable: summary.Unreachable, Unusable: summary.Unusable,
	}
	if o.content.SetStatus != nil {
		o.content.SetStatus(changed)
	}
	if p.setPhase != nil {
		p.setPhase(changed)
	}
	var added []metav1alpha1.AbandonedTarget
	status.Abandoned, added = abandoned.Record(status.Abandoned, o.abandoned, metav1.NewTime(o.now).Rfc3339Copy())
	status.Withdrawals = after.Withdrawals
	verdict.Write(&status.Conditions, o.policy.GetGeneration(), o.now)
	var sum func(P)
	if summing, ok := kind.(SummingKind[P, T]); ok {
		sum = func(policy P) { summing.Sum(policy, rollout.Parts(o.view.targets), o.now) }
		sum(changed)
	}
	if !equality.Semantic.DeepEqual(statusOnly(kind, o.policy), changed) {
		status.Withdrawals = rollout.CurrentWithdrawals(status.Withdrawals, o.now)
	}
	events := slices.Concat(news.OfStatus(before, status), news.OfAbandoned(added), news.OfWithdrawal(done.rollout.Withdrawal))
	return report[P]{status: changed, sum: sum, events: events, again: untilNext(o, p.rollout.Again), failed: done.err != nil}
}

// conclude is the planner's verdict on the clusters, and what stands above it: first what failed just now, then
// what nobody but a person can mend, the withdrawal guard before all else.
func conclude[P Policy, T Target](o observation[P, T], policy rollout.Policy, summary rollout.Summary, err error) rollout.Verdict {
	verdict := rollout.Conclude(policy, summary)
	switch {
	case policy.Deleting:
	case o.stall != nil && summary.Withdrawal.Held:
		verdict.Message += "; " + o.stall.Message
	case o.stall != nil:
		verdict = withStall(verdict, o.stall)
	case len(o.view.missing) > 0:
		verdict = withMissing(verdict, o.view.missing)
	}
	switch {
	case err != nil && summary.Withdrawal.Held:
		verdict.Message += "; " + oneLine(err)
	case err != nil:
		verdict.Ready, verdict.Reason = metav1.ConditionFalse, secretaccess.Reason(err, metav1alpha1.ReasonFailed)
		verdict.Message = oneLine(err) + "; " + verdict.Message
		verdict.Reconciling, verdict.Stalled = true, false
	}
	suspended := suspension.Of(o.policy.GetPolicySpec().Suspend, o.policy.GetAnnotations(), o.now)
	if suspended.Active && !policy.Deleting {
		verdict.Message += "; " + suspended.String()
	}
	if suspended.ParseError != "" {
		verdict.Message += "; " + suspended.ParseError
	}
	if wanted := GuardOf(o.policy.GetPolicySpec().WithdrawalGuard); wanted != policy.Guard && !policy.Deleting {
		verdict.Message += "; spec.withdrawalGuard allows more than the provider, and counts as " + policy.Guard.String()
	}
	return verdict
}

// withStall: what a person has to mend is told first, unless the policy is none the worse for it.
func withStall(verdict rollout.Verdict, stall *Stall) rollout.Verdict {
	if stall.Usable && stall.Transient {
		verdict.Message = stall.Message + "; until then the policy stays at what it was resolved to: " + verdict.Message
		return verdict
	}
	verdict.Ready, verdict.Reason = metav1.ConditionFalse, stall.Reason
	verdict.Message = stall.Message + "; until then targets stay as they are: " + verdict.Message
	verdict.Stalled, verdict.Reconciling = !stall.Transient, stall.Transient
	return verdict
}

// withMissing: a policy is not ready in a cluster that does not exist.
func withMissing(verdict rollout.Verdict, missing []string) rollout.Verdict {
	if verdict.Ready == metav1.ConditionTrue {
		verdict.Ready, verdict.Reason = metav1.ConditionFalse, metav1alpha1.ReasonReferenceNotFound
	}
	tally := rollout.Count(missing)
	verdict.Message += "; spec.clusterNames names TenantClusters that do not exist: " + truncate.First(tally.Names, ", ", int(tally.Count))
	return verdict
}

// untilNext is when a plan may differ by itself, or a stall is to be looked at again.
func untilNext[P Policy, T Target](o observation[P, T], again time.Time) time.Duration {
	again = times.Earliest(times.Earliest(again, o.view.next), o.again)
	if o.content.Again.After(o.now) {
		again = times.Earliest(again, o.content.Again)
	}
	if o.stall != nil {
		again = times.Earliest(again, o.stall.Retry)
	}
	if again.IsZero() {
		return 0
	}
	return max(again.Sub(o.now), time.Millisecond)
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
