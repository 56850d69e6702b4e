package rollout

import (
	"cmp"
	"slices"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Plan is what to write now. A target is in one list only, except that one in Adjust may be in
// Delete too: its knobs (the deletion policy among them) are written before it is deleted.
type Plan struct {
	// Create are clusters to create a target for.
	Create []Cluster
	// Move are targets to bring to the current revision, facts and knobs.
	Move []Move
	// Adjust are names of targets to write the knobs of, and nothing else.
	Adjust []string
	// Delete are names of targets to delete.
	Delete []string
	// Waiting is the number of moves for which there is no slot now.
	Waiting int
	// Withdrawal says what the guard made of the targets whose clusters are not selected any more.
	Withdrawal Withdrawal
}

// Record is what the policy has to remember once Create is carried out, and before Delete is, so that
// every withdrawal is counted once, whenever the manager dies; nil if that is what it remembers.
func (p Plan) Record() *metav1alpha1.WithdrawalRecord {
	if p.Withdrawal.record == nil {
		return nil
	}
	record := p.Withdrawal.record.DeepCopy()
	record.Underway.Clusters += int32(len(p.Create))
	return record
}

// Move brings an existing target to what its cluster should have.
type Move struct {
	Target  string
	Cluster Cluster
}

// Empty is whether there is nothing to write.
func (p Plan) Empty() bool {
	return len(p.Create)+len(p.Move)+len(p.Adjust)+len(p.Delete) == 0
}

// Make plans the next step of a rollout. The same input gives the same plan, in the same order,
// whatever the order of clusters and targets.
func Make(input Input) Plan {
	pairs, strays := match(input)
	plan := Plan{Withdrawal: input.withdraw(strays)}
	if !plan.Withdrawal.Held {
		plan.Delete = namesOf(leavable(strays))
	}
	moved := plan.move(input.Policy, pairs)
	plan.adjust(pairs, strays, moved)
	return plan
}

// leavable are the targets that are still to be deleted.
func leavable(strays []Target) []Target {
	return slices.DeleteFunc(slices.Clone(strays), func(stray Target) bool { return stray.Deleting })
}

func namesOf(targets []Target) (names []string) {
	for _, target := range targets {
		names = append(names, target.Name)
	}
	return names
}

// match finds every selected cluster's target. The strays are the targets of no selected cluster;
// all of them, when the policy is being deleted. Both are in the order of their clusters.
func match(input Input) (pairs []pair, strays []Target) {
	clusters := map[ClusterKey]*pair{}
	if !input.Policy.Deleting {
		for _, cluster := range input.Clusters {
			if !cluster.Deleting {
				clusters[cluster.ClusterKey] = &pair{cluster: cluster}
			}
		}
	}
	for _, target := range sorted(input.Targets) {
		found, selected := clusters[target.Cluster]
		if !selected || found.target != nil {
			strays = append(strays, target)
			continue
		}
		found.target = &target
	}
	for _, found := range clusters {
		pairs = append(pairs, *found)
	}
	slices.SortFunc(pairs, func(a, b pair) int { return a.cluster.Compare(b.cluster.ClusterKey) })
	return pairs, strays
}

func sorted(targets []Target) []Target {
	targets = slices.Clone(targets)
	slices.SortFunc(targets, func(a, b Target) int {
		return cmp.Or(a.Cluster.Compare(b.Cluster), cmp.Compare(a.Name, b.Name))
	})
	return targets
}

// move hands out the slots, to what is broken first, and returns the names of the targets that
// move.
func (p *Plan) move(policy Policy, pairs []pair) map[string]bool {
	broken, others, held := candidates(policy, pairs)
	free := max(max(policy.MaxConcurrent, 1)-held, 0)
	queue := slices.Concat(broken, others)
	now := queue[:min(free, len(queue))]
	p.Waiting = len(queue) - len(now)

	moved := map[string]bool{}
	for _, next := range now {
		if next.target == nil {
			p.Create = append(p.Create, next.cluster)
			continue
		}
		p.Move = append(p.Move, Move{Target: next.target.Name, Cluster: next.cluster})
		moved[next.target.Name] = true
	}
	return moved
}

// candidates are the clusters that could move now, apart by whether their target is broken
// already, and the number of slots that the other clusters hold. A suspended or leaving cluster that
// is not ready at the current revision keeps its slot: suspending, or deleting, what a bad revision
// broke must not let the revision break more.
func candidates(policy Policy, pairs []pair) (broken, others []pair, held int) {
	for _, p := range pairs {
		settled := p.target == nil || p.target.State == Ready
		switch {
		case !p.cluster.Connected || (p.target != nil && p.target.Deleting):
		case p.follows(policy):
			if !settled {
				held++
			}
		case p.held(policy):
		case settled:
			others = append(others, p)
		default:
			broken = append(broken, p)
		}
	}
	return broken, others, held
}

// adjust lists the targets whose knobs are not as the policy has them and that do not move,
// including those that are about to be deleted: how they are deleted is one of the knobs.
func (p *Plan) adjust(pairs []pair, strays []Target, moved map[string]bool) {
	for _, pair := range pairs {
		if pair.target != nil && !pair.target.KnobsCurrent && !moved[pair.target.Name] {
			p.Adjust = append(p.Adjust, pair.target.Name)
		}
	}
	for _, stray := range strays {
		if !stray.KnobsCurrent {
			p.Adjust = append(p.Adjust, stray.Name)
		}
	}
}
