package rollout

import (
	"iter"
	"strings"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// ClusterKey names a TenantCluster.
type ClusterKey struct {
	Namespace string
	Name      string
}

// Compare orders keys by namespace, then by name.
func (k ClusterKey) Compare(other ClusterKey) int {
	if order := strings.Compare(k.Namespace, other.Namespace); order != 0 {
		return order
	}
	return strings.Compare(k.Name, other.Name)
}

// Input is everything that a rollout depends on. It is planned fastest where clusters are in the order of their keys, and
// targets in the order of their clusters.
type Input struct {
	Policy Policy
	// Clusters that the policy selects, in any order, each once.
	Clusters []Cluster
	// Targets of the policy, in any order, also those of clusters that it does not select any more.
	Targets []Target
	// Withdrawals is what the policy remembers of the clusters that it lost.
	Withdrawals metav1alpha1.WithdrawalRecord
	// Now decides which of them still count.
	Now time.Time
}

// Policy is what a person wants.
type Policy struct {
	Namespace string
	Name      string
	// MaxConcurrent is the number of slots; below 1 counts as 1.
	MaxConcurrent int
	// MaxFailures is how many slots of failed targets are handed out again at most, where the policy is Shared.
	MaxFailures int
	// ProgressDeadline is how long a target may take to become Ready before it counts as failed; 0 for ever.
	ProgressDeadline time.Duration
	// Shared policies select clusters of several namespaces, each of which is a customer's.
	Shared bool
	// Gates hold back changes in all clusters.
	Gates []Gate
	// Deleting policies have all their targets deleted.
	Deleting bool
	// Guard bounds how many clusters the policy loses within an hour.
	Guard Guard
	// Confirmation is the value of the annotation daytwo.dev/confirm-withdrawal; empty for none.
	Confirmation string
}

// Cluster is one selected TenantCluster, and what the policy wants there.
type Cluster struct {
	ClusterKey
	// Revision is the name of the revision that the cluster should have.
	Revision string
	// Content names what the cluster gets beside the revision; empty for nothing.
	Content string
	// Parameters is what a target tells of its cluster, in a form that can be compared.
	Parameters string
	// Connected: it answers, it is the right one, and its parameters are known.
	Connected bool
	// Unusable says why it is not connected, where that is not for lack of an answer; empty otherwise.
	Unusable string
	// Gates hold back changes in this cluster.
	Gates []Gate
	// Overrides are reasons of gates that do not hold an urgent change of this cluster back. An urgent update of
	// a target waits for no slot either; an urgent first target gets its slot before others.
	Overrides []string
	// Deleting clusters get nothing new and do not count as selected. The target goes, unless one of Gates
	// blocks its deletion.
	Deleting bool
	// Unwritten: the target could not be written the last time. Others get their slot first.
	Unwritten bool
}

// loses is whether the cluster's target is to go.
func (c *Cluster) loses() bool { return c.Deleting && !blocks(c.Gates, Delete) }

// State is what a target says of its current generation.
type State int

// States of a target.
const (
	// Progressing: nothing is reported yet for the current generation, or work is under way.
	Progressing State = iota
	// Ready: the cluster is as the target says.
	Ready
	// Failed: it is not, and it is not just on its way: the last try failed, or no further one is made.
	Failed
	// Unreachable: the target could not look, since the cluster does not answer.
	Unreachable
	// Unusable: the target could not look for another reason.
	Unusable
)

// Target is the policy in one cluster.
type Target struct {
	Name       string
	Cluster    ClusterKey
	Revision   string
	Content    string
	Parameters string
	// SettingsCurrent: what is no part of a revision is as the policy has it.
	SettingsCurrent bool
	State           State
	// Applied: what the target names was applied in its cluster, as far as is known.
	Applied bool
	// Standing: it has been Progressing for a while, and Message says what stands still.
	Standing bool
	// ReadySince is when State became Ready; zero if it is not.
	ReadySince time.Time
	// Since is when the target was written last, or stopped being Ready, whichever is later; zero if it is Ready, or if that is not
	// known.
	Since time.Time
	// Message is what the target tells people about its state.
	Message  string
	Deleting bool
	// ClusterGone: there is no such TenantCluster any more.
	ClusterGone bool
	// Part is what the policy tells of the target beside that. The planner does not look at it.
	Part any
}

// Parts are those of targets that stay.
func Parts(targets []Target) iter.Seq[any] {
	return func(yield func(any) bool) {
		for i := range targets {
			if !targets[i].Deleting && !yield(targets[i].Part) {
				return
			}
		}
	}
}

// compare orders targets by their clusters, then by name.
func (t *Target) compare(other *Target) int {
	if order := t.Cluster.Compare(other.Cluster); order != 0 {
		return order
	}
	return strings.Compare(t.Name, other.Name)
}

// has is how many clusters the policy has: those with a target that is not being deleted.
func (in Input) has() (count int) {
	for i := range in.Targets {
		if !in.Targets[i].Deleting {
			count++
		}
	}
	return count
}

// pair is a selected cluster and its target, if it has one.
type pair struct {
	cluster *Cluster
	target  *Target
}

// isUrgent is whether the pair's change passes gates, and comes before others.
func (p pair) isUrgent() bool { return len(p.cluster.Overrides) > 0 }

// isCurrent is whether the target names what its cluster should have.
func (p pair) isCurrent() bool { return p.target.Names(p.cluster) }

// Names is whether a target names what its cluster should have. Nil, for no target, does not.
func (t *Target) Names(c *Cluster) bool {
	return t != nil && t.Revision == c.Revision && t.Content == c.Content && t.Parameters == c.Parameters
}

// isUpdated is whether that target is there to stay.
func (p pair) isUpdated() bool { return p.isCurrent() && !p.target.Deleting }

// isReady is whether the cluster has everything that the policy wants, as far as can be known now.
func (p pair) isReady() bool {
	return p.cluster.Connected && p.isUpdated() && p.target.State == Ready
}

// waitsFor is the gate that holds back the next change of the pair; nil if none does, or nothing is to change.
func (p pair) waitsFor(policy *Policy) *Gate {
	switch {
	case p.isCurrent():
		return nil
	case p.target == nil:
		return p.blockedBy(policy, Create)
	}
	return p.blockedBy(policy, Update)
}
