package fairshare

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestNobodyHoldsMoreThanTheirShareAndEverybodyEnds has tenants come, work and give back at random.
func TestNobodyHoldsMoreThanTheirShareAndEverybodyEnds(t *testing.T) {
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 1))
		limits := LimitsOf(1 + random.IntN(40))
		limits.PerTenantInGroup = 1 + random.IntN(limits.PerGroup)
		m := &model{
			t: t, seed: seed, random: random, scheduler: NewScheduler[string](limits),
			holders: map[string]Claim{}, waiting: map[string]Claim{},
		}
		for range 400 {
			m.step()
		}
		m.drain()
	}
}

// model is what a Scheduler is compared with.
type model struct {
	t         *testing.T
	seed      uint64
	random    *rand.Rand
	scheduler *Scheduler[string]
	holders   map[string]Claim
	waiting   map[string]Claim
}

func (m *model) step() {
	switch m.random.IntN(10) {
	case 0, 1, 2, 3:
		m.add()
	case 4, 5, 6:
		m.next()
	case 7:
		for key := range m.waiting {
			m.scheduler.Remove(key)
			delete(m.waiting, key)
			break
		}
	default:
		for key := range m.holders {
			m.scheduler.Done(key)
			delete(m.holders, key)
			break
		}
	}
	if m.scheduler.Waiting() != len(m.waiting) || m.scheduler.Held() != len(m.holders) {
		m.t.Fatalf("seed %d: %d wait and %d hold a place, not %d and %d",
			m.seed, m.scheduler.Waiting(), m.scheduler.Held(), len(m.waiting), len(m.holders))
	}
}

func (m *model) add() {
	tenant := fmt.Sprint("t", m.random.IntN(12))
	group := fmt.Sprint(tenant, "/", m.random.IntN(4))
	if m.random.IntN(4) == 0 {
		group = fmt.Sprint("shared", m.random.IntN(2))
	}
	key := fmt.Sprint(tenant, "-", group, "-", m.random.IntN(5))
	claim := Claim{Tenant: tenant, Group: group, Urgent: m.random.IntN(9) == 0, Priority: m.random.IntN(3)}
	m.scheduler.Add(key, claim)
	m.waiting[key] = claim
}

// next takes a place, and checks it against the shares.
func (m *model) next() {
	key, claim, ok := m.scheduler.Next()
	if !ok {
		m.refused()
		return
	}
	if _, waits := m.waiting[key]; !waits {
		m.t.Fatalf("seed %d: %s did not wait", m.seed, key)
	}
	if _, twice := m.holders[key]; twice {
		m.t.Fatalf("seed %d: %s holds a place already", m.seed, key)
	}
	delete(m.waiting, key)
	m.holders[key] = claim
	limits := m.scheduler.limits
	tenant, group, inGroup := m.count(claim)
	others := len(m.holders) - tenant
	if len(m.holders) > limits.Places || tenant > limits.PerTenant || tenant > max(1, (limits.Places-others)*limits.PerTenant/limits.Places) ||
		group > limits.PerGroup || inGroup > limits.PerTenantInGroup {
		m.t.Fatalf("seed %d: %+v: of %d places the tenant of %s holds %d, its group %d", m.seed, limits, len(m.holders), key, tenant, group)
	}
}

// refused: a place is free for nobody who holds none and waits in a group that has room.
func (m *model) refused() {
	if len(m.holders) == m.scheduler.limits.Places {
		return
	}
	for key, claim := range m.waiting {
		tenant, group, _ := m.count(claim)
		if _, holds := m.holders[key]; !holds && tenant == 0 && group < m.scheduler.limits.PerGroup {
			m.t.Fatalf("seed %d: %s waits though a place is free and its tenant holds none", m.seed, key)
		}
	}
}

func (m *model) count(claim Claim) (tenant, group, inGroup int) {
	for _, holder := range m.holders {
		if holder.Tenant == claim.Tenant {
			tenant++
		}
		if holder.Group == claim.Group {
			group++
			if holder.Tenant == claim.Tenant {
				inGroup++
			}
		}
	}
	return tenant, group, inGroup
}

// drain gives everything back until nobody waits.
func (m *model) drain() {
	for rounds := 0; len(m.waiting) > 0; rounds++ {
		if rounds > 10_000 {
			m.t.Fatalf("seed %d: %d keys never have a turn", m.seed, len(m.waiting))
		}
		for key := range m.holders {
			m.scheduler.Done(key)
			delete(m.holders, key)
		}
		m.next()
	}
}

// TestEachOfTheTenantsThatWaitHasATurnInAsManyTurns adds and takes at random, at any priority.
func TestEachOfTheTenantsThatWaitHasATurnInAsManyTurns(t *testing.T) {
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 2))
		s := NewScheduler[int](LimitsOf(1 + random.IntN(9)))
		waiting, within := map[string]int{}, map[string]int{}
		begin := func(tenant string) {
			if within[tenant] = len(waiting); waiting[tenant] == 0 {
				delete(within, tenant)
			}
		}
		for key := range 500 {
			if tenant := fmt.Sprint("t", random.IntN(10)); random.IntN(2) == 0 {
				waiting[tenant]++
				if s.Add(key, Claim{Tenant: tenant, Urgent: random.IntN(5) == 0, Priority: random.IntN(3)}); waiting[tenant] == 1 {
					begin(tenant)
				}
				continue
			}
			next, claim, ok := s.Next()
			if !ok {
				continue
			}
			s.Done(next)
			if waiting[claim.Tenant]--; waiting[claim.Tenant] == 0 {
				delete(waiting, claim.Tenant)
			}
			for tenant := range within {
				if within[tenant]--; within[tenant] < 0 && tenant != claim.Tenant {
					t.Fatalf("seed %d: %s waits for longer than a turn of each other tenant", seed, tenant)
				}
			}
			begin(claim.Tenant)
		}
	}
}
