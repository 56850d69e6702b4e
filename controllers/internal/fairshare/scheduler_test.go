package fairshare

import (
	"fmt"
	"slices"
	"testing"
)

// takeAll takes places until none is given any more, and returns who got them.
func takeAll(s *Scheduler[string]) (keys []string) {
	for key, _, ok := s.Next(); ok; key, _, ok = s.Next() {
		keys = append(keys, key)
	}
	return keys
}

// addMany adds keys of a tenant, each in a group of its own.
func addMany(s *Scheduler[string], tenant string, count int) {
	for i := range count {
		name := fmt.Sprintf("%s/%d", tenant, i)
		s.Add(name, Claim{Tenant: tenant, Group: name})
	}
}

func TestAFurtherTenantFindsAPlaceWhateverOthersHold(t *testing.T) {
	for _, workers := range []int{2, 3, 4, 8, 16, 32, 64} {
		s := NewScheduler[string](LimitsOf(workers))
		slow := min(max(1, workers/4), 8)
		for i := range slow {
			addMany(s, fmt.Sprint("slow", i), 1000)
			takeAll(s)
			if held := s.tenants[fmt.Sprint("slow", i)].holds; held > s.limits.PerTenant {
				t.Fatalf("%d workers: tenant %d holds %d of them", workers, i, held)
			}
		}
		s.Add("new", Claim{Tenant: "new"})
		if got := takeAll(s); !slices.Equal(got, []string{"new"}) {
			t.Errorf("%d workers: %d slow tenants leave %q to another", workers, slow, got)
		}
	}
}

func TestALoneTenantHoldsAQuarter(t *testing.T) {
	for workers, most := range map[int]int{1: 1, 2: 1, 3: 2, 4: 2, 8: 2, 16: 4, 32: 8, 64: 16} {
		s := NewScheduler[string](LimitsOf(workers))
		addMany(s, "only", 1000)
		if got := len(takeAll(s)); got != most {
			t.Errorf("of %d workers a lone tenant holds %d, and is to hold %d", workers, got, most)
		}
	}
}

func TestAGroupHoldsAnEighth(t *testing.T) {
	s := NewScheduler[string](LimitsOf(32))
	for i := range 100 {
		s.Add(fmt.Sprint("a", i), Claim{Tenant: "t", Group: "a"})
	}
	if got := takeAll(s); !slices.Equal(got, []string{"a0", "a1", "a2", "a3"}) {
		t.Fatalf("one group got %q", got)
	}
	s.Add("b", Claim{Tenant: "t", Group: "b"})
	if got := takeAll(s); !slices.Equal(got, []string{"b"}) {
		t.Fatalf("beside a full group, another one got %q", got)
	}
	s.Done("a2")
	if got := takeAll(s); !slices.Equal(got, []string{"a4"}) {
		t.Fatalf("after a place of the group was given back, %q", got)
	}
}

func TestTenantsTakeTurnsWhateverTheirPriorities(t *testing.T) {
	s := NewScheduler[string](Limits{Places: 1, PerTenant: 1, PerGroup: 1, PerTenantInGroup: 1})
	for i := range 3 {
		s.Add(fmt.Sprint("loud", i), Claim{Tenant: "loud", Urgent: true, Priority: 100})
	}
	for i := range 3 {
		s.Add(fmt.Sprint("calm", i), Claim{Tenant: "calm", Priority: -100})
	}
	var order []string
	for range 6 {
		next := takeAll(s)
		order = append(order, next...)
		s.Done(next[0])
	}
	if want := []string{"loud0", "calm0", "loud1", "calm1", "loud2", "calm2"}; !slices.Equal(order, want) {
		t.Fatalf("turns %q, want %q", order, want)
	}
}

func TestWithinATenantTheUrgentComeFirstThenByPriority(t *testing.T) {
	s := NewScheduler[string](Limits{Places: 1, PerTenant: 1, PerGroup: 1, PerTenantInGroup: 1})
	s.Add("first", Claim{})
	s.Add("second", Claim{Group: "x"})
	s.Add("drift", Claim{Group: "x", Priority: 100})
	s.Add("deleted", Claim{Urgent: true})
	s.Add("raised", Claim{Group: "y"})
	s.Add("raised", Claim{Group: "y", Priority: 100})
	s.Add("first", Claim{}) // It keeps its turn.
	var order []string
	for range 5 {
		next := takeAll(s)
		order = append(order, next...)
		s.Done(next[0])
	}
	if want := []string{"deleted", "drift", "raised", "first", "second"}; !slices.Equal(order, want) {
		t.Fatalf("order %q, want %q", order, want)
	}
}

func TestATenantKeepsItsTurnWhenItsKeyIsAddedAgain(t *testing.T) {
	s := NewScheduler[string](Limits{Places: 1, PerTenant: 1, PerGroup: 1, PerTenantInGroup: 1})
	s.Add("a", Claim{Tenant: "a"})
	s.Add("b", Claim{Tenant: "b"})
	s.Add("a", Claim{Tenant: "a", Priority: 1})
	if got := takeAll(s); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("first %q", got)
	}
}

func TestAKeyThatHoldsAPlaceWaitsUntilItIsGivenBack(t *testing.T) {
	s := NewScheduler[string](LimitsOf(8))
	s.Add("a", Claim{Tenant: "t"})
	takeAll(s)
	s.Add("a", Claim{Tenant: "t"})
	if got := takeAll(s); len(got) > 0 || s.Waiting() != 1 {
		t.Fatalf("got %q while it holds a place", got)
	}
	s.Done("a")
	if got := takeAll(s); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("got %q after that", got)
	}
	s.Add("a", Claim{Tenant: "t"})
	s.Remove("a")
	s.Done("a")
	if got := takeAll(s); len(got) > 0 || len(s.tenants)+len(s.groups)+s.Waiting()+s.Held() > 0 {
		t.Fatalf("%q came, or something is left of it: %+v", got, s)
	}
}
