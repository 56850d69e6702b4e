package rollout

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// slotShare is the part of the slots that one customer's clusters hold at most while clusters of others wait: a third.
const slotShare = 3

// allotment is who changes now, and who waits for a slot.
type allotment struct {
	// next are the pairs that change now.
	next []pair
	// waiting is the number of changes for which there is no slot now.
	waiting int
	// stopped: changes wait, and nothing but failed targets, whose deadline has passed, holds the slots.
	stopped bool
}

// allot hands the slots out: to urgent updates, which wait for none, then to what is broken, then to the others.
func (in *Input) allot(pairs []pair) allotment {
	broken, others, held := candidates(&in.Policy, pairs)
	urgent, brokenRest := splitUrgent(broken)
	urgentToo, rest := splitUrgent(others)
	found := allotment{next: slices.Concat(urgent, urgentToo)}
	s := in.slotsLeft(pairs, held, brokenRest, len(found.next))
	found.next = append(found.next, s.handOut(queued(brokenRest, urgentFirst(rest), s.failed), pairs, found.next)...)
	found.waiting = len(broken) + len(others) - len(found.next)
	found.stopped = found.waiting > 0 && len(found.next) == 0 && len(held) > 0 &&
		!slices.ContainsFunc(held, func(p pair) bool { return !in.isOverdue(p) })
	return found
}

// candidates are the pairs that could change now, apart by whether their target is broken
// already, and the other pairs that hold a slot.
func candidates(policy *Policy, pairs []pair) (broken, others, held []pair) {
	for _, p := range pairs {
		switch {
		case !p.cluster.Connected || (p.target != nil && p.target.Deleting):
		case p.isCurrent():
			if !p.isIntact() && p.keepsSlot(policy) {
				held = append(held, p)
			}
		case p.cluster.Deleting || p.waitsFor(policy) != nil:
		case p.isIntact():
			others = append(others, p)
		default:
			broken = append(broken, p)
		}
	}
	return broken, others, held
}

// isIntact is whether a change of the pair could break something that is not broken yet.
func (p pair) isIntact() bool { return p.target == nil || p.target.State == Ready }

// isOnItsWay is whether nothing is known to be broken of a target that is not Ready: its settings may just have been written.
func (p pair) isOnItsWay() bool { return p.target != nil && p.target.State == Progressing }

// slots are what is left to hand out.
type slots struct {
	// left for changes of any kind, and for changes of what is intact: the sum of what is broken stays bounded whichever
	// of the broken ones have to wait.
	left, leftForIntact int
	// blocked are the broken ones whose customer holds its share already. What is left for them is for nobody who may not be broken.
	blocked int
	// share of one customer; 0 where the policy selects one namespace only.
	share int
	// returnable is how many slots of failed targets may still be returned.
	returnable int
	// heldBy customers, without what was returned.
	heldBy map[string]int
	// failed are the customers with a failed target at the revision that it should have.
	failed sets.Set[string]
}

// slotsLeft counts what is left besides the pairs that hold a slot and the urgent ones that are about to take one. Broken are the
// candidates that are broken already.
func (in *Input) slotsLeft(pairs, held, broken []pair, urgent int) slots {
	all := max(in.Policy.MaxConcurrent, 1)
	s := slots{heldBy: map[string]int{}, failed: sets.New[string]()}
	returned := in.returned(pairs, held)
	carried := 0
	if in.Policy.Shared {
		s.share = max(all/slotShare, 1)
		s.returnable = in.Policy.MaxFailures - len(returned)
		s.count(in, held, returned)
		carried = in.carried(broken, len(returned))
	}
	s.blocked = s.blockedIn(broken)
	s.left = max(all+len(returned)-len(held)-urgent, 0)
	s.leftForIntact = max(all+len(returned)+carried-len(held)-urgent-len(broken), 0)
	return s
}

// count finds out who holds slots that were not returned, and whose targets failed.
func (s *slots) count(in *Input, held []pair, returned sets.Set[ClusterKey]) {
	for _, p := range held {
		if !returned.Has(p.cluster.ClusterKey) {
			s.heldBy[p.cluster.Namespace]++
		}
		if in.hasFailed(p) {
			s.failed.Insert(p.cluster.Namespace)
		}
	}
}

// blockedIn counts the pairs for which their customers' shares have no room.
func (s *slots) blockedIn(pairs []pair) (count int) {
	if s.share == 0 {
		return 0
	}
	heldBy := maps.Clone(s.heldBy)
	for _, p := range pairs {
		if heldBy[p.cluster.Namespace]++; heldBy[p.cluster.Namespace] > s.share {
			count++
		}
	}
	return count
}

// carried is how many targets failed at an older revision, up to what may still be returned. They say nothing about the revision that
// is under way.
func (in *Input) carried(broken []pair, returned int) (count int) {
	for _, p := range broken {
		if in.hasFailed(p) {
			count++
		}
	}
	return min(count, max(in.Policy.MaxFailures-returned, 0))
}

// returned are the clusters whose target failed and holds its slot no more: clusters of two other customers are Ready at the same
// revision, so it is the cluster that fails and not the revision. They are no more than Policy.MaxFailures.
func (in *Input) returned(pairs, held []pair) sets.Set[ClusterKey] {
	found := sets.New[ClusterKey]()
	if !in.Policy.Shared {
		return found
	}
	ready := map[string][]string{}
	for _, p := range held {
		if len(found) >= in.Policy.MaxFailures || !in.hasFailed(p) {
			continue
		}
		revision := p.cluster.Revision
		if _, known := ready[revision]; !known {
			ready[revision] = readyCustomers(pairs, revision)
		}
		if hasTwoBeside(ready[revision], p.cluster.Namespace) {
			found.Insert(p.cluster.ClusterKey)
		}
	}
	return found
}

// hasTwoBeside is whether there are two other customers.
func hasTwoBeside(customers []string, customer string) bool {
	if slices.Contains(customers, customer) {
		return len(customers) > 2
	}
	return len(customers) >= 2
}

// readyCustomers are the first three customers of whom a cluster is Ready at a revision: enough to find two others than any.
func readyCustomers(pairs []pair, revision string) (customers []string) {
	for _, p := range pairs {
		last := len(customers) - 1
		if p.cluster.Revision != revision || !p.isReady() || last >= 0 && customers[last] == p.cluster.Namespace {
			continue
		}
		if customers = append(customers, p.cluster.Namespace); len(customers) == 3 {
			break
		}
	}
	return customers
}

// queued are the candidates in the order in which they get slots: what is broken first, then the others; those of customers of whom a
// target failed after all other customers'; and what could not be written the last time at the end.
func queued(broken, others []pair, failed sets.Set[string]) []pair {
	queue := slices.Concat(broken, others)
	rank := func(p pair) int {
		switch {
		case p.cluster.Unwritten:
			return 2
		case failed.Has(p.cluster.Namespace):
			return 1
		}
		return 0
	}
	if slices.ContainsFunc(queue, func(p pair) bool { return rank(p) > 0 }) {
		slices.SortStableFunc(queue, func(a, b pair) int { return rank(a) - rank(b) })
	}
	return queue
}

// handOut gives slots to the pairs of a queue in its order, beside those that are urgent.
func (s *slots) handOut(queue, pairs, urgent []pair) []pair {
	next, over := s.within(s.share, queue)
	if len(over) == 0 {
		return next
	}
	s.blocked = 0
	more, _ := s.within(s.limitOf(over[0].cluster, pairs, slices.Concat(urgent, next)), over)
	return append(next, more...)
}

// within gives slots to the pairs of a queue in its order, up to a limit for each customer; 0 for none. Over are the pairs beyond it.
func (s *slots) within(limit int, queue []pair) (next, over []pair) {
	for _, p := range queue {
		switch {
		case s.left == 0:
			return next, nil
		case p.isIntact() && s.leftForIntact == 0, p.isOnItsWay() && s.left <= s.blocked && s.leftForIntact == 0:
		case limit > 0 && s.heldBy[p.cluster.Namespace] >= limit:
			over = append(over, p)
		default:
			next = append(next, s.take(p))
		}
	}
	return next, over
}

// limitOf is how many slots the customer of a cluster may hold once the next have changed. It is more than the share if nobody else
// waits, whatever for, none of the customer's targets failed, and clusters of two others are Ready, so that slots can be returned. A
// policy with one customer has nobody to share with.
func (s *slots) limitOf(cluster *Cluster, pairs, next []pair) int {
	isOther := func(p pair) bool { return p.cluster.Namespace != cluster.Namespace }
	if !slices.ContainsFunc(pairs, isOther) {
		return s.heldBy[cluster.Namespace] + s.left
	}
	changing := sets.New[ClusterKey]()
	for _, p := range next {
		changing.Insert(p.cluster.ClusterKey)
	}
	otherWaits := slices.ContainsFunc(pairs, func(p pair) bool {
		return isOther(p) && !p.cluster.Deleting && !p.isCurrent() && !changing.Has(p.cluster.ClusterKey)
	})
	if otherWaits || s.failed.Has(cluster.Namespace) || !hasTwoBeside(readyCustomers(pairs, cluster.Revision), cluster.Namespace) {
		return s.share
	}
	return s.share + s.returnable
}

func (s *slots) take(p pair) pair {
	s.left--
	s.heldBy[p.cluster.Namespace]++
	if p.isIntact() {
		s.leftForIntact--
	}
	return p
}

// splitUrgent parts the targets whose update is urgent from the other pairs. What a cluster is yet to get first is not urgent in
// this sense: it has nothing that could end before.
func splitUrgent(pairs []pair) (urgent, rest []pair) {
	isUrgentUpdate := func(p pair) bool { return p.target != nil && p.isUrgent() }
	if !slices.ContainsFunc(pairs, isUrgentUpdate) {
		return nil, pairs
	}
	for _, p := range pairs {
		if isUrgentUpdate(p) {
			urgent = append(urgent, p)
			continue
		}
		rest = append(rest, p)
	}
	return urgent, rest
}

// urgentFirst puts the pairs with overrides first and keeps the order otherwise.
func urgentFirst(pairs []pair) []pair {
	if !slices.ContainsFunc(pairs, pair.isUrgent) {
		return pairs
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		switch {
		case a.isUrgent() == b.isUrgent():
			return 0
		case a.isUrgent():
			return -1
		}
		return 1
	})
	return pairs
}
