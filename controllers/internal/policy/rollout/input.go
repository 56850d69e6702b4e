package rollout

import (
	"cmp"
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
	return cmp.Or(cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Name, other.Name))
}

// Input is everything that a rollout depends on.
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
	// Revision is the name of the current revision.
	Revision string
	// MaxConcurrent is the number of slots; below 1 counts as 1.
	MaxConcurrent int
	// Hold stops every move: the policy is suspended, or its content could not be read.
	Hold bool
	// Deleting policies have all their targets deleted.
	Deleting bool
	// Guard bounds how many clusters the policy loses within an hour.
	Guard Guard
	// Confirmation is the value of the annotation daytwo.dev/confirm-withdrawal; empty for none.
	Confirmation string
}

// Cluster is one selected TenantCluster.
type Cluster struct {
	ClusterKey
	// Facts is what a target tells of its cluster, in a form that can be compared.
	Facts string
	// Connected: it answers, it is the right one, and its facts are known.
	Connected bool
	// Suspended: nothing is to be moved there.
	Suspended bool
	// Closed: what disturbs the cluster waits for a maintenance window. A first target disturbs nothing.
	Closed bool
	// Leaving clusters are about to be deleted: a target that is there stays as it is, and nothing new comes.
	Leaving bool
	// Deleting clusters count as not selected: their targets are to go.
	Deleting bool
}

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
	// Unreachable: the target could not look.
	Unreachable
)

// Target is the policy in one cluster.
type Target struct {
	Name     string
	Cluster  ClusterKey
	Revision string
	Facts    string
	// KnobsCurrent: what is no part of a revision is as the policy has it.
	KnobsCurrent bool
	State        State
	// Message is what the target tells people about its state.
	Message  string
	Deleting bool
}

// follows is whether the target names what its cluster should have.
func (t Target) follows(policy Policy, cluster Cluster) bool {
	return t.Revision == policy.Revision && t.Facts == cluster.Facts
}

// has is how many clusters the policy has: those with a target that is not being deleted.
func (in Input) has() (count int) {
	for _, target := range in.Targets {
		if !target.Deleting {
			count++
		}
	}
	return count
}

// pair is a selected cluster and its target, if it has one.
type pair struct {
	cluster Cluster
	target  *Target
}

func (p pair) follows(policy Policy) bool {
	return p.target != nil && p.target.follows(policy, p.cluster)
}

// awaitsWindow is whether the cluster's next move waits for a maintenance window, and for nothing else.
func (p pair) awaitsWindow(policy Policy) bool {
	return p.cluster.Closed && p.target != nil && !policy.Hold && !p.cluster.Suspended && !p.cluster.Leaving
}

// held is whether nothing moves in the cluster now.
func (p pair) held(policy Policy) bool {
	return policy.Hold || p.cluster.Suspended || p.cluster.Leaving || p.awaitsWindow(policy)
}

// ready is whether the cluster has everything that the policy wants, as far as can be known now.
func (p pair) ready(policy Policy) bool {
	return p.cluster.Connected && !p.target.leaving() && p.follows(policy) && p.target.State == Ready
}

// leaving is whether the target is missing or about to be.
func (t *Target) leaving() bool { return t == nil || t.Deleting }
