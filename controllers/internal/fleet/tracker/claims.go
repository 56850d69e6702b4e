package tracker

import (
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Claim makes an object the owner's. If it is another's already, it stays so and that owner is
// returned.
func (t *Tracker) Claim(owner Owner, key objects.Key) (holder Owner, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := t.objects[key]
	if entry == nil {
		entry = t.claim(owner, key)
	}
	return entry.owner, entry.owner == owner
}

// claim makes an object that nobody has the owner's.
func (t *Tracker) claim(owner Owner, key objects.Key) *tracked {
	t.claims++
	entry := &tracked{owner: owner, claim: t.claims}
	t.objects[key] = entry
	delete(t.unrecorded, key)
	return entry
}

// OwnerOf returns whose an object is, and false if no target claims it.
func (t *Tracker) OwnerOf(key objects.Key) (holder Owner, claimed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if entry := t.objects[key]; entry != nil {
		return entry.owner, true
	}
	return Owner{}, false
}

// Retain ends all claims of the owner but those on the objects for which keep is true, and tells those that wait for the
// others. The owner itself waits for none of the others any more.
func (t *Tracker) Retain(owner Owner, keep func(objects.Key) bool) {
	t.mu.Lock()
	told := map[Owner]bool{}
	for key, entry := range t.objects {
		if entry.owner == owner && !keep(key) {
			delete(t.objects, key)
			t.release(key, told)
		}
	}
	t.renounce(owner, keep)
	t.mu.Unlock()
	for one := range told {
		t.notify(one, false)
	}
}

// Keep claims an object that the owner has on record, unless another owner has it, and expects what is on record, unless an
// apply has told since. An expectation without a UID expects nothing. A tracker that is made anew while the manager runs may
// be told of records first that are older than what was applied.
func (t *Tracker) Keep(owner Owner, key objects.Key, recorded Expectation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := t.objects[key]
	if entry == nil {
		entry = t.claim(owner, key)
		entry.missed = true
	}
	if entry.owner == owner && recorded.UID != "" && entry.expected.ResourceVersion == "" {
		entry.expected = recorded
	}
}

// Claims says whether anybody owns an object; what nobody owns is not looked at.
func (t *Tracker) Claims(key objects.Key) bool {
	_, claimed := t.Claimed(key)
	return claimed
}

// Claimed says whether anybody owns an object, and what others may set of it.
func (t *Tracker) Claimed(key objects.Key) (tolerance managedfields.Tolerance, claimed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if entry := t.objects[key]; entry != nil {
		return entry.tolerance, true
	}
	return managedfields.Tolerance{}, false
}
