package fairshare

import "slices"

// Claim is what a key waits for: a place, for the work of a tenant.
type Claim struct {
	// Tenant whose work it is.
	Tenant string
	// Group is what the work is done in, such as a workload cluster; empty if that is nothing with a limit.
	Group string
	// Urgent work comes before all other work of the tenant.
	Urgent bool
	// Priority orders work of a tenant that is equally urgent, the higher first.
	Priority int
}

// Merged is what a key claims that was added before with another claim. Its tenant and group are those of the later one.
func (c Claim) Merged(before Claim) Claim {
	c.Urgent, c.Priority = c.Urgent || before.Urgent, max(c.Priority, before.Priority)
	return c
}

// Scheduler says which of the keys that wait has the next place. The zero Scheduler is not usable; see NewScheduler. It is
// not safe for use by several goroutines at a time.
type Scheduler[K comparable] struct {
	limits Limits
	// waiting are the keys that wait for a place, by key; again those that hold one and were added since.
	waiting, again map[K]*entry[K]
	// holders are the claims of the keys that hold a place.
	holders map[K]Claim
	// groups counts the places that are held, by group.
	groups  map[string]int
	tenants map[string]*tenant[K]
	// turns are the tenants for which a key waits, the one that has waited longest for its turn first.
	turns []*tenant[K]
	// added counts what was added, for the order in which it came.
	added uint64
}

// entry is a key that waits.
type entry[K comparable] struct {
	key      K
	claim    Claim
	sequence uint64
}

// NewScheduler returns a Scheduler for so many places.
func NewScheduler[K comparable](limits Limits) *Scheduler[K] {
	return &Scheduler[K]{
		limits: limits, waiting: map[K]*entry[K]{}, again: map[K]*entry[K]{}, holders: map[K]Claim{},
		groups: map[string]int{}, tenants: map[string]*tenant[K]{},
	}
}

// Add has a key wait for a place. A key that holds one waits until that is given back. One that waits already keeps its
// turn, unless it is more urgent by now or has a higher priority: then it comes after those that are as urgent.
func (s *Scheduler[K]) Add(key K, claim Claim) {
	e := &entry[K]{key: key, claim: claim, sequence: s.added}
	s.added++
	before := s.entryOf(key)
	if before == nil {
		s.add(e)
		return
	}
	e.merge(before)
	if waits := s.waiting[key]; waits != nil && waits.claim.Tenant == claim.Tenant {
		s.waiting[key] = e
		s.tenants[claim.Tenant].replace(before, e) // The tenant keeps its turn.
		return
	}
	s.Remove(key)
	s.add(e)
}

// merge takes in what the entry replaces.
func (e *entry[K]) merge(before *entry[K]) {
	e.claim = e.claim.Merged(before.claim)
	if e.claim.Urgent == before.claim.Urgent && e.claim.Priority == before.claim.Priority {
		e.sequence = before.sequence
	}
}

func (s *Scheduler[K]) add(e *entry[K]) {
	if _, holds := s.holders[e.key]; holds {
		s.again[e.key] = e
		return
	}
	s.waiting[e.key] = e
	t := s.tenant(e.claim.Tenant)
	if t.isIdle() {
		s.turns = append(s.turns, t)
	}
	t.push(e)
}

// Remove has a key wait no longer. One that holds a place keeps it.
func (s *Scheduler[K]) Remove(key K) {
	delete(s.again, key)
	e := s.waiting[key]
	if e == nil {
		return
	}
	t := s.tenant(e.claim.Tenant)
	s.remove(slices.Index(s.turns, t), e)
	s.tidy(t, e.claim.Group)
}

// Next gives the next place to a key, if one is free that a key may have.
func (s *Scheduler[K]) Next() (key K, claim Claim, ok bool) {
	if s.free() <= 0 {
		return key, claim, false
	}
	for at, t := range s.turns {
		if t.holds >= s.limits.allowance(s.free()+t.holds) {
			continue
		}
		if e := t.next(s.admits); e != nil {
			s.take(at, e)
			return e.key, e.claim, true
		}
	}
	return key, claim, false
}

// Done takes the place of a key back. If the key was added meanwhile, it waits for another one.
func (s *Scheduler[K]) Done(key K) {
	claim, holds := s.holders[key]
	if !holds {
		return
	}
	delete(s.holders, key)
	t := s.tenant(claim.Tenant)
	t.holds--
	t.lane(claim.Group).holds--
	if s.groups[claim.Group]--; s.groups[claim.Group] == 0 {
		delete(s.groups, claim.Group)
	}
	if e := s.again[key]; e != nil {
		delete(s.again, key)
		s.add(e)
	}
	s.tidy(t, claim.Group)
}

// Claim of a key that waits, or waits to do so again.
func (s *Scheduler[K]) Claim(key K) (Claim, bool) {
	if e := s.entryOf(key); e != nil {
		return e.claim, true
	}
	return Claim{}, false
}

// Waiting is how many keys wait, those that hold a place and were added since included.
func (s *Scheduler[K]) Waiting() int { return len(s.waiting) + len(s.again) }

// Held is how many places are held.
func (s *Scheduler[K]) Held() int { return len(s.holders) }

func (s *Scheduler[K]) free() int { return s.limits.Places - len(s.holders) }

func (s *Scheduler[K]) entryOf(key K) *entry[K] {
	if e := s.waiting[key]; e != nil {
		return e
	}
	return s.again[key]
}

// take gives a place to an entry of the tenant whose turn is at that position, and lets all others go before that tenant.
func (s *Scheduler[K]) take(at int, e *entry[K]) {
	t := s.turns[at]
	s.remove(at, e)
	if !t.isIdle() {
		s.turns = append(slices.Delete(s.turns, at, at+1), t)
	}
	s.holders[e.key] = e.claim
	s.groups[e.claim.Group]++
	t.holds++
	t.lane(e.claim.Group).holds++
}

// remove takes an entry out of what waits for the tenant whose turn is at that position.
func (s *Scheduler[K]) remove(at int, e *entry[K]) {
	delete(s.waiting, e.key)
	t := s.turns[at]
	t.remove(e)
	if t.isIdle() {
		s.turns = slices.Delete(s.turns, at, at+1)
	}
}

// admits is whether a further place may be held for a group, by a tenant that holds so many for it.
func (s *Scheduler[K]) admits(group string, holds int) bool {
	return group == "" || s.groups[group] < s.limits.PerGroup && holds < s.limits.PerTenantInGroup
}

func (s *Scheduler[K]) tenant(name string) *tenant[K] {
	found := s.tenants[name]
	if found == nil {
		found = newTenant[K](name)
		s.tenants[name] = found
	}
	return found
}

// tidy forgets a group of a tenant, and the tenant, if nothing holds a place or waits for one there.
func (s *Scheduler[K]) tidy(t *tenant[K], group string) {
	t.tidy(group)
	if t.holds == 0 && t.isIdle() {
		delete(s.tenants, t.name)
	}
}
