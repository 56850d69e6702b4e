package rollout

import (
	"cmp"
	"slices"
	"strings"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

const countedNames = 10

// Summary counts a policy's clusters. Every selected cluster is in exactly one of Ready, Failed,
// Unreachable, Unusable, Waiting and Progressing.
type Summary struct {
	// Selected by the policy; clusters that are being deleted are not.
	Selected metav1alpha1.ClusterCount
	// Updated: the revision and the parameters that the cluster should have were applied there.
	Updated metav1alpha1.ClusterCount
	// Ready: updated, connected, and the target is ready.
	Ready metav1alpha1.ClusterCount
	// Failed: the target failed or missed its deadline, at whichever revision.
	Failed metav1alpha1.ClusterCount
	// Unreachable: the cluster does not answer.
	Unreachable metav1alpha1.ClusterCount
	// Unusable: nothing is known of the cluster for another reason.
	Unusable metav1alpha1.ClusterCount
	// Waiting: a gate holds back the next change there; by the reason of the gate, in alphabetical order.
	Waiting []Waiting
	// Progressing: the others, which are on their way or wait for a slot.
	Progressing metav1alpha1.ClusterCount
	// Standing are those of them that have been on their way for a while.
	Standing metav1alpha1.ClusterCount
	// Terminating are the clusters that are being deleted, or not selected any more, and still have a
	// target, apart from those that the guard holds back.
	Terminating metav1alpha1.ClusterCount
	// Stopped is the number of changes that wait for slots which only failed targets hold; 0 while the rollout goes on.
	Stopped int
	// Withdrawal is what the guard makes of the clusters that are not selected any more.
	Withdrawal Withdrawal
	// FirstFailure is what the first of the failed targets says.
	FirstFailure string
	// FirstUnusable says why nothing is known of the first of the unusable clusters that says so, with its name.
	FirstUnusable string
	// FirstStanding is what the first of the standing targets says.
	FirstStanding string
	// FirstObstacle is what keeps the first of the terminating targets, if one says so.
	FirstObstacle string
}

// Waiting are the clusters that wait for the same reason.
type Waiting struct {
	// Reason and Message of the gate in the first of the clusters.
	Reason, Message string
	Clusters        metav1alpha1.ClusterCount
}

// waiting counts clusters by the reason for which they wait.
type waiting map[string]*Waiting

func (w waiting) add(gate *Gate, name string) {
	if w[gate.Reason] == nil {
		w[gate.Reason] = &Waiting{Reason: gate.Reason, Message: gate.Message}
	}
	add(&w[gate.Reason].Clusters, name)
}

func (w waiting) count() []Waiting {
	var counts []Waiting
	for _, found := range w {
		counts = append(counts, *found)
	}
	slices.SortFunc(counts, func(a, b Waiting) int { return strings.Compare(a.Reason, b.Reason) })
	return counts
}

// Summarize counts the clusters of a policy.
func Summarize(input Input) Summary {
	pairs, unselected := match(input)
	policy := &input.Policy
	waiting := waiting{}
	var summary Summary
	for _, p := range pairs {
		if p.cluster.Deleting {
			continue
		}
		name := displayName(policy, p.cluster.ClusterKey)
		add(&summary.Selected, name)
		if p.isUpdated() && p.target.Applied {
			add(&summary.Updated, name)
		}
		gate := p.waitsFor(policy)
		switch {
		case p.isUnusable():
			add(&summary.Unusable, name)
			summary.FirstUnusable = cmp.Or(summary.FirstUnusable, p.whyUnusable(name))
		case !p.cluster.Connected || (p.target != nil && p.target.State == Unreachable):
			add(&summary.Unreachable, name)
		case p.isReady():
			add(&summary.Ready, name)
		case input.isFailed(p):
			if add(&summary.Failed, name); summary.Failed.Names[0] == name {
				summary.FirstFailure = input.failure(p)
			}
		case gate != nil:
			waiting.add(gate, name)
		default:
			add(&summary.Progressing, name)
			summary.addStanding(p, name)
		}
	}
	summary.Waiting = waiting.count()
	if summary.Failed.Count+summary.Unreachable.Count > 0 {
		if found := input.allot(pairs); found.stopped {
			summary.Stopped = found.waiting
		}
	}
	summary.Withdrawal = input.withdraw(unselected)
	summary.countTerminating(policy, pairs, unselected)
	return summary
}

// addStanding counts a target that stands still on its way.
func (s *Summary) addStanding(p pair, name string) {
	if p.target == nil || !p.target.Standing {
		return
	}
	if add(&s.Standing, name); s.Standing.Names[0] == name {
		s.FirstStanding = p.target.Message
	}
}

// isUnusable is whether nothing is known of the cluster though it may answer.
func (p pair) isUnusable() bool {
	return p.cluster.Unusable != "" || p.cluster.Connected && p.target != nil && p.target.State == Unusable
}

// whyUnusable says why, with the cluster's name; empty if nothing is said.
func (p pair) whyUnusable(name string) string {
	why := p.cluster.Unusable
	if why == "" {
		why = p.target.Message
	}
	if why == "" {
		return ""
	}
	return name + ": " + why
}

// countTerminating counts the clusters that are being deleted and those of targets that nothing selects any
// more, and tells what keeps the first of the latter that says so. What the guard holds back stays.
func (s *Summary) countTerminating(policy *Policy, pairs []pair, unselected []*Target) {
	for _, p := range pairs {
		if p.cluster.Deleting && p.target != nil {
			add(&s.Terminating, displayName(policy, p.cluster.ClusterKey))
		}
	}
	for _, target := range unselected {
		if s.Withdrawal.holds(target) && !target.Deleting {
			continue
		}
		name := displayName(policy, target.Cluster)
		add(&s.Terminating, name)
		if s.FirstObstacle == "" && target.Message != "" && (target.State == Failed || target.State == Unreachable || target.State == Unusable) {
			s.FirstObstacle = name + ": " + target.Message
		}
	}
}

// displayName is how a policy's status names a cluster.
func displayName(policy *Policy, cluster ClusterKey) string {
	if cluster.Namespace == policy.Namespace {
		return cluster.Name
	}
	return cluster.Namespace + "/" + cluster.Name
}

// Count counts names and keeps the first ten in alphabetical order.
func Count(names []string) (count metav1alpha1.ClusterCount) {
	for _, name := range names {
		add(&count, name)
	}
	return count
}

// add counts a name, and keeps it if it is one of the first.
func add(count *metav1alpha1.ClusterCount, name string) {
	count.Count++
	kept := len(count.Names)
	if kept == countedNames && name >= count.Names[kept-1] {
		return
	}
	at, _ := slices.BinarySearch(count.Names, name)
	count.Names = slices.Insert(count.Names, at, name)
	count.Names = count.Names[:min(kept+1, countedNames)]
}
