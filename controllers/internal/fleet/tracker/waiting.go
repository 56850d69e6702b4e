package tracker

import "github.com/daytwo-dev/daytwo/controllers/internal/objects"

// queue is who else declares an object that somebody has.
type queue struct {
	// demander goes before the holder: the holder is to relinquish the object to it. Nil for nobody.
	demander *Owner
	// others are told when the object is free.
	others map[Owner]bool
}

// Await has the owner told once the holder has an object no more. It returns false, and nothing is awaited, if the holder does
// not have it. What the owner demanded before, it only awaits from now on.
func (t *Tracker) Await(owner, holder Owner, key objects.Key) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.holds(holder, key) {
		return false
	}
	t.await(owner, key)
	return true
}

// Demand has the holder told that it is to relinquish an object to an owner that goes before it. The object stays the holder's
// until it does. Of several that demand an object, the first one gets it, and the others are told when it is free. Demand
// returns false, and does nothing, if the holder does not have the object.
func (t *Tracker) Demand(owner, holder Owner, key objects.Key) bool {
	t.mu.Lock()
	if !t.holds(holder, key) {
		t.mu.Unlock()
		return false
	}
	waiting := t.queueOf(key)
	switch {
	case waiting.demander == nil:
		waiting.demander = &owner
		delete(waiting.others, owner)
	case *waiting.demander != owner:
		waiting.others[owner] = true
	}
	t.mu.Unlock()
	t.notify(holder, false)
	return true
}

// Outranked returns the objects of an owner that others demand.
func (t *Tracker) Outranked(owner Owner) []objects.Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	var demanded []objects.Key
	for key, waiting := range t.waiting {
		if waiting.demander != nil && t.holds(owner, key) {
			demanded = append(demanded, key)
		}
	}
	return demanded
}

// Relinquish hands an object to the owner that demands it, so that no third one can claim it in between, and has the former owner told
// when it is free again. The owner must have no apply of it in flight, and must not have it on record any more. Relinquish returns
// false, and the object stays the owner's, if nobody demands it by now.
func (t *Tracker) Relinquish(owner Owner, key objects.Key) bool {
	t.mu.Lock()
	waiting := t.waiting[key]
	if !t.holds(owner, key) || waiting == nil || waiting.demander == nil {
		t.mu.Unlock()
		return false
	}
	next := *waiting.demander
	waiting.demander = nil
	// What was seen was assessed by what the owner lets others set: it is read anew, unless a watch shows it before.
	t.claim(next, key).missed = true
	t.await(owner, key)
	t.mu.Unlock()
	t.notify(next, false)
	return true
}

func (t *Tracker) holds(owner Owner, key objects.Key) bool {
	entry := t.objects[key]
	return entry != nil && entry.owner == owner
}

func (t *Tracker) queueOf(key objects.Key) *queue {
	if t.waiting[key] == nil {
		t.waiting[key] = &queue{others: map[Owner]bool{}}
	}
	return t.waiting[key]
}

func (t *Tracker) await(owner Owner, key objects.Key) {
	waiting := t.queueOf(key)
	waiting.leave(owner)
	waiting.others[owner] = true
}

// release collects who is to be told that an object is free.
func (t *Tracker) release(key objects.Key, told map[Owner]bool) {
	waiting := t.waiting[key]
	if waiting == nil {
		return
	}
	delete(t.waiting, key)
	if waiting.demander != nil {
		told[*waiting.demander] = true
	}
	for one := range waiting.others {
		told[one] = true
	}
}

// renounce ends the waiting of an owner for all objects but those for which keep is true.
func (t *Tracker) renounce(owner Owner, keep func(objects.Key) bool) {
	for key, waiting := range t.waiting {
		if keep(key) {
			continue
		}
		if waiting.leave(owner); waiting.demander == nil && len(waiting.others) == 0 {
			delete(t.waiting, key)
		}
	}
}

// leave ends the waiting of an owner.
func (q *queue) leave(owner Owner) {
	delete(q.others, owner)
	if q.demander != nil && *q.demander == owner {
		q.demander = nil
	}
}
