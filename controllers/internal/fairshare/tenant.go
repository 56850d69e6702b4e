package fairshare

import (
	"cmp"

	"k8s.io/utils/third_party/forked/golang/btree"
)

// degree of the trees, which mostly have a few entries.
const degree = 8

// tenant is what waits for one tenant, in the lanes of its groups: a group that has its share is passed over at once,
// however much waits for it.
type tenant[K comparable] struct {
	name string
	// holds is how many places the tenant holds.
	holds int
	lanes map[string]*lane[K]
	// order is of the lanes in which something waits, by what is first in each.
	order *btree.BTree[*lane[K]]
}

// lane is what waits for a tenant in one group.
type lane[K comparable] struct {
	group   string
	holds   int
	waiting *btree.BTree[*entry[K]]
	// first of those that wait; nil if none does.
	first *entry[K]
}

func newTenant[K comparable](name string) *tenant[K] {
	return &tenant[K]{
		name: name, lanes: map[string]*lane[K]{},
		order: btree.New(degree, func(a, b *lane[K]) bool { return comesBefore(a.first, b.first) }),
	}
}

// comesBefore is whether one entry of a tenant goes before another one.
func comesBefore[K comparable](a, b *entry[K]) bool {
	if a.claim.Urgent != b.claim.Urgent {
		return a.claim.Urgent
	}
	return cmp.Or(cmp.Compare(b.claim.Priority, a.claim.Priority), cmp.Compare(a.sequence, b.sequence)) < 0
}

// isIdle is whether nothing waits.
func (t *tenant[K]) isIdle() bool { return t.order.Len() == 0 }

func (t *tenant[K]) lane(group string) *lane[K] {
	found := t.lanes[group]
	if found == nil {
		found = &lane[K]{group: group, waiting: btree.New(degree, comesBefore[K])}
		t.lanes[group] = found
	}
	return found
}

func (t *tenant[K]) push(e *entry[K]) {
	t.change(t.lane(e.claim.Group), func(waiting *btree.BTree[*entry[K]]) { waiting.ReplaceOrInsert(e) })
}

func (t *tenant[K]) remove(e *entry[K]) {
	t.change(t.lane(e.claim.Group), func(waiting *btree.BTree[*entry[K]]) { waiting.Delete(e) })
}

// replace has another entry wait in the place of one.
func (t *tenant[K]) replace(before, e *entry[K]) {
	t.remove(before)
	t.push(e)
	t.tidy(before.claim.Group)
}

// change changes what waits in a lane, and puts the lane where it belongs after that.
func (t *tenant[K]) change(of *lane[K], do func(waiting *btree.BTree[*entry[K]])) {
	if of.first != nil {
		t.order.Delete(of)
	}
	do(of.waiting)
	if of.first, _ = of.waiting.Min(); of.first != nil {
		t.order.ReplaceOrInsert(of)
	}
}

// next is the first entry whose group may have a further place; nil if there is none.
func (t *tenant[K]) next(admits func(group string, holds int) bool) *entry[K] {
	var found *entry[K]
	t.order.Ascend(func(of *lane[K]) bool {
		if !admits(of.group, of.holds) {
			return true
		}
		found = of.first
		return false
	})
	return found
}

// tidy forgets a lane in which nothing is done and nothing waits.
func (t *tenant[K]) tidy(group string) {
	if of := t.lanes[group]; of != nil && of.holds == 0 && of.first == nil {
		delete(t.lanes, group)
	}
}
