package rollout

import (
	"slices"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// Plan is what to write now. A target is in one list only, except that one in SyncSettings may be in
// Delete too: its settings (the deletion policy among them) are written before it is deleted.
type Plan struct {
	// Create are clusters to create a target for.
	Create []Cluster
	// Update are targets to bring to their cluster's revision, parameters and settings.
	Update []TargetUpdate
	// SyncSettings are names of targets to write the settings of, and nothing else.
	SyncSettings []string
	// Delete are names of targets to delete.
	Delete []string
	// Waiting is the number of changes for which there is no slot now.
	Waiting int
	// Withdrawal says what the guard made of the targets whose clusters are not selected any more.
	Withdrawal Withdrawal
	// Again is when a plan may differ though nothing else changes: a gate opens by itself, the deadline of a target passes, or
	// the guard allows what it holds back. Zero for never.
	Again time.Time
}

// TargetUpdate brings an existing target to what its cluster should have.
type TargetUpdate struct {
	Target  string
	Cluster Cluster
}

// Record is what the policy has to remember once Create is carried out, and before Delete is, so that
// every withdrawal is counted once, whenever the manager dies; nil if that is what it remembers.
func (p Plan) Record() *metav1alpha1.WithdrawalRecord {
	if p.Withdrawal.record == nil {
		return nil
	}
	record := p.Withdrawal.record.DeepCopy()
	created := map[string]int32{"": int32(len(p.Create))}
	for i := range p.Create {
		created[p.Create[i].Namespace]++
	}
	for _, namespace := range namespacesIn(*record) {
		if c := countsOf(*record, namespace); c.Underway != nil {
			c.Underway.Clusters += created[namespace]
		}
	}
	return record
}

// Empty is whether there is nothing to write.
func (p Plan) Empty() bool {
	return len(p.Create)+len(p.Update)+len(p.SyncSettings)+len(p.Delete) == 0
}

// PlanRollout plans the next step of a rollout. The same input gives the same plan, in the same order,
// whatever the order of clusters and targets.
func PlanRollout(input Input) Plan {
	pairs, unselected := match(input)
	plan := Plan{Withdrawal: input.withdraw(unselected)}
	plan.Again = times.Earliest(times.Earliest(input.opening(), input.firstDeadline(pairs)), plan.Withdrawal.Again)
	if !blocks(input.Policy.Gates, Delete) {
		plan.Delete = namesOf(slices.DeleteFunc(staying(unselected), plan.Withdrawal.holds))
	}
	updated := plan.handOutSlots(input.allot(pairs))
	plan.syncSettings(pairs, unselected, updated)
	return plan
}

// staying are the targets that are not being deleted yet.
func staying(unselected []*Target) []*Target {
	return slices.DeleteFunc(slices.Clone(unselected), func(target *Target) bool { return target.Deleting })
}

func namesOf(targets []*Target) (names []string) {
	for _, target := range targets {
		names = append(names, target.Name)
	}
	return names
}

// match finds every selected cluster's target. Unselected are the targets of no selected cluster;
// all of them, when the policy is being deleted. Both are in the order of their clusters.
func match(input Input) (pairs []pair, unselected []*Target) {
	if !input.Policy.Deleting {
		pairs = pairsOf(input.Clusters)
	}
	rest := pairs
	for _, target := range sorted(input.Targets) {
		for len(rest) > 0 && rest[0].cluster.Compare(target.Cluster) < 0 {
			rest = rest[1:]
		}
		if len(rest) == 0 || rest[0].cluster.ClusterKey != target.Cluster || rest[0].target != nil {
			unselected = append(unselected, target)
			continue
		}
		rest[0].target = target
	}
	return pairs, unselected
}

// pairsOf are the clusters that keep or get a target, in order.
func pairsOf(clusters []Cluster) []pair {
	pairs := make([]pair, 0, len(clusters))
	for i := range clusters {
		if !clusters[i].loses() {
			pairs = append(pairs, pair{cluster: &clusters[i]})
		}
	}
	byCluster := func(a, b pair) int { return a.cluster.Compare(b.cluster.ClusterKey) }
	if !slices.IsSortedFunc(pairs, byCluster) {
		slices.SortFunc(pairs, byCluster)
	}
	return pairs
}

func sorted(targets []Target) []*Target {
	ordered := make([]*Target, len(targets))
	for i := range targets {
		ordered[i] = &targets[i]
	}
	if !slices.IsSortedFunc(ordered, (*Target).compare) {
		slices.SortFunc(ordered, (*Target).compare)
	}
	return ordered
}

// handOutSlots lists the changes for which there is a slot, and returns the names of the targets that are updated.
func (p *Plan) handOutSlots(found allotment) map[string]bool {
	p.Waiting = found.waiting
	updated := map[string]bool{}
	for _, next := range found.next {
		if next.target == nil {
			p.Create = append(p.Create, *next.cluster)
			continue
		}
		p.Update = append(p.Update, TargetUpdate{Target: next.target.Name, Cluster: *next.cluster})
		updated[next.target.Name] = true
	}
	return updated
}

// syncSettings lists the targets whose settings are not as the policy has them and that are not updated,
// including those that are about to be deleted: how they are deleted is one of the settings.
func (p *Plan) syncSettings(pairs []pair, unselected []*Target, updated map[string]bool) {
	for _, pair := range pairs {
		if pair.target != nil && !pair.target.SettingsCurrent && !updated[pair.target.Name] {
			p.SyncSettings = append(p.SyncSettings, pair.target.Name)
		}
	}
	for _, target := range unselected {
		if !target.SettingsCurrent {
			p.SyncSettings = append(p.SyncSettings, target.Name)
		}
	}
}
