package rollout

import (
	"cmp"
	"slices"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

const namesPerTally = 10

// Summary counts a policy's clusters. Every selected cluster that is not leaving is in exactly one of Ready, Failed,
// Unreachable, Waiting, Unopened and Progressing.
type Summary struct {
	// Selected by the policy.
	Selected metav1alpha1.ClusterCount
	// Updated: the target has the current revision and facts.
	Updated metav1alpha1.ClusterCount
	// Ready: updated, connected, and the target is ready.
	Ready metav1alpha1.ClusterCount
	// Failed: the target failed, at whichever revision.
	Failed metav1alpha1.ClusterCount
	// Unreachable: the cluster is not connected, or its target could not look.
	Unreachable metav1alpha1.ClusterCount
	// Waiting: nothing moves there, because the policy is on hold or the cluster suspended.
	Waiting metav1alpha1.ClusterCount
	// Unopened: the next move there waits for a maintenance window.
	Unopened metav1alpha1.ClusterCount
	// Progressing: the others, which are on their way or wait for a slot.
	Progressing metav1alpha1.ClusterCount
	// Leaving are the clusters that are about to be deleted, or not selected any more, and still have a
	// target, apart from those that the guard holds back.
	Leaving metav1alpha1.ClusterCount
	// Withdrawal is what the guard makes of the clusters that are not selected any more.
	Withdrawal Withdrawal
	// FirstFailure is what the first of the failed targets says.
	FirstFailure string
	// FirstUnknown is what the first of the unreachable targets says whose cluster is connected, with the cluster's
	// name; empty if there is none.
	FirstUnknown string
	// FirstObstacle is what keeps the first of the leaving targets, if one says so.
	FirstObstacle string
}

// Summarize counts the clusters of a policy.
func Summarize(input Input) Summary {
	pairs, strays := match(input)
	policy := input.Policy
	var selected, updated, ready, failed, unreachable, waiting, unopened, progressing names
	failures := map[string]string{}
	var summary Summary
	for _, p := range staying(pairs) {
		name := displayName(policy, p.cluster.ClusterKey)
		selected = append(selected, name)
		if p.follows(policy) && !p.target.leaving() {
			updated = append(updated, name)
		}
		switch {
		case !p.cluster.Connected || (p.target != nil && p.target.State == Unreachable):
			unreachable = append(unreachable, name)
			summary.FirstUnknown = cmp.Or(summary.FirstUnknown, p.whyUnknown(name))
		case p.ready(policy):
			ready = append(ready, name)
		case p.target != nil && p.target.State == Failed:
			failed = append(failed, name)
			failures[name] = p.target.Message
		case !p.follows(policy) && p.awaitsWindow(policy):
			unopened = append(unopened, name)
		case !p.follows(policy) && p.held(policy):
			waiting = append(waiting, name)
		default:
			progressing = append(progressing, name)
		}
	}
	summary.Selected, summary.Updated, summary.Ready = selected.tally(), updated.tally(), ready.tally()
	summary.Failed, summary.Unreachable, summary.Waiting = failed.tally(), unreachable.tally(), waiting.tally()
	summary.Unopened, summary.Progressing = unopened.tally(), progressing.tally()
	summary.Withdrawal = input.withdraw(strays)
	summary.leave(policy, pairs, strays)
	if len(failed) > 0 {
		summary.FirstFailure = failures[summary.Failed.Names[0]]
	}
	return summary
}

// whyUnknown is what the target says that could not look into a connected cluster; empty if it says nothing.
func (p pair) whyUnknown(name string) string {
	if !p.cluster.Connected || p.target.Message == "" {
		return ""
	}
	return name + ": " + p.target.Message
}

// staying are the pairs whose cluster is not about to be deleted.
func staying(pairs []pair) []pair {
	return slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool { return p.cluster.Leaving })
}

// leave counts the clusters that are about to be deleted and those of targets that nothing selects any
// more, and tells what keeps the first of the latter that says so. What the guard holds back does not leave.
func (s *Summary) leave(policy Policy, pairs []pair, strays []Target) {
	var leaving names
	for _, p := range pairs {
		if p.cluster.Leaving && p.target != nil {
			leaving = append(leaving, displayName(policy, p.cluster.ClusterKey))
		}
	}
	for _, stray := range strays {
		if s.Withdrawal.Held && !stray.Deleting {
			continue
		}
		name := displayName(policy, stray.Cluster)
		leaving = append(leaving, name)
		if s.FirstObstacle == "" && stray.Message != "" && (stray.State == Failed || stray.State == Unreachable) {
			s.FirstObstacle = name + ": " + stray.Message
		}
	}
	s.Leaving = leaving.tally()
}

// displayName is how a policy's status names a cluster.
func displayName(policy Policy, cluster ClusterKey) string {
	if cluster.Namespace == policy.Namespace {
		return cluster.Name
	}
	return cluster.Namespace + "/" + cluster.Name
}

type names []string

func (n names) tally() metav1alpha1.ClusterCount { return Tally(n) }

// Tally counts names and keeps the first ten in alphabetical order.
func Tally(names []string) metav1alpha1.ClusterCount {
	ordered := slices.Sorted(slices.Values(names))
	return metav1alpha1.ClusterCount{
		Count: int32(len(ordered)),
		Names: ordered[:min(len(ordered), namesPerTally)],
	}
}
