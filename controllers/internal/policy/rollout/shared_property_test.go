package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// manyCustomers is a shared policy with clusters of several customers, all of them Ready at the old revision or without a target.
func manyCustomers(source *rand.Rand, slots, failures int) Input {
	input := Input{Policy: policy(slots), Now: noon}
	input.Policy.Shared, input.Policy.MaxFailures, input.Policy.ProgressDeadline = true, failures, 10*time.Minute
	for i := range 1 + source.IntN(40) {
		one := cluster(fmt.Sprintf("c%02d", i))
		one.Namespace = customers[source.IntN(len(customers))]
		input.Clusters = append(input.Clusters, one)
		if source.IntN(100) < 70 {
			existing := target(one.Name, oldRevision, Ready)
			existing.Cluster, existing.Name = one.ClusterKey, TargetName("cache", one.ClusterKey)
			input.Targets = append(input.Targets, existing)
		}
	}
	return input
}

// settle lets each target that is on its way end as its cluster does, or stay on its way for ever, and time pass.
func settleTargets(source *rand.Rand, input Input, ends func(ClusterKey) State) Input {
	for i := range input.Targets {
		if one := &input.Targets[i]; one.Revision == newRevision && one.State == Progressing && source.IntN(2) == 0 {
			one.State = ends(one.Cluster)
		}
	}
	input.Now = input.Now.Add(time.Duration(source.IntN(8)) * time.Minute)
	return input
}

func brokenOf(input Input) (count int) {
	for _, one := range input.Targets {
		if one.State != Ready {
			count++
		}
	}
	return count
}

// A revision that is good nowhere stops after as many clusters as there are slots, whoever owns them.
func TestABadRevisionStopsAfterItsSlotsWhateverMayFail(t *testing.T) {
	source := random(t)
	for range rounds / 30 {
		input := manyCustomers(source, 1+source.IntN(12), source.IntN(20))
		for range 30 {
			input = input.After(PlanRollout(input))
			if broken := brokenOf(input); broken > input.Policy.MaxConcurrent {
				t.Fatalf("%d are broken with %d slots: %+v", broken, input.Policy.MaxConcurrent, input)
			}
			input = settleTargets(source, input, func(ClusterKey) State { return []State{Failed, Progressing, Unreachable}[source.IntN(3)] })
		}
	}
}

// Whatever clusters fail at whichever of several revisions, no more are ever broken than slots and failures that may be returned.
func TestNoMoreAreBrokenThanSlotsAndMaxFailures(t *testing.T) {
	source := random(t)
	for range rounds / 30 {
		input := manyCustomers(source, 1+source.IntN(12), source.IntN(20))
		bad := map[ClusterKey]bool{}
		for range 6 {
			for _, one := range input.Clusters {
				bad[one.ClusterKey] = source.IntN(100) < 30
			}
			for range 20 {
				input = input.After(PlanRollout(input))
				if broken, most := brokenOf(input), input.Policy.MaxConcurrent+input.Policy.MaxFailures; broken > most {
					t.Fatalf("%d are broken, at most %d may be: %+v", broken, most, input)
				}
				input = settleTargets(source, input, func(key ClusterKey) State {
					if bad[key] {
						return []State{Failed, Progressing}[source.IntN(2)]
					}
					return Ready
				})
			}
			for i := range input.Targets {
				input.Targets[i].Revision = oldRevision // A newer one is to come.
			}
		}
	}
}

// While clusters of others wait, whatever for, no customer gets more than a third of the slots.
func TestACustomerHoldsNoMoreThanAThirdWhileOthersWait(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		if !input.Policy.Shared {
			continue
		}
		for i := range input.Targets {
			input.Targets[i].SettingsCurrent = true // What settings are written to starts anew.
		}
		before, after := onTheirWayOf(input), input.After(PlanRollout(input))
		share := max(input.Policy.MaxConcurrent/3, 1)
		for customer, count := range onTheirWayOf(after) {
			if count > max(share, before[customer]) && othersWait(customer, first(match(after))) {
				t.Fatalf("%s holds %d slots, had %d, a third is %d: %+v", customer, count, before[customer], share, input)
			}
		}
	}
}

func othersWait(customer string, pairs []pair) bool {
	return slices.ContainsFunc(pairs, func(p pair) bool {
		return p.cluster.Namespace != customer && !p.cluster.Deleting && !p.isCurrent()
	})
}

// onTheirWayOf counts the targets of each customer that hold a slot and have not failed. Urgent ones wait for none.
func onTheirWayOf(input Input) map[string]int {
	counts := map[string]int{}
	for _, p := range first(match(input)) {
		if p.cluster.Connected && p.isUpdated() && p.target.State != Ready && !input.isFailed(p) && p.keepsSlot(&input.Policy) && !p.isUrgent() {
			counts[p.cluster.Namespace]++
		}
	}
	return counts
}

// Customers whose clusters become Ready are done sooner or later, whatever one does whose clusters never are. With one slot, that one
// may have it: see TestASingleSlotStopsAtTheFirstFailure.
func TestOneCustomerStopsNoOther(t *testing.T) {
	source := random(t)
	for range rounds / 30 {
		slots := 2 + source.IntN(12)
		input := manyCustomers(source, slots, source.IntN(20))
		hostile := customers[source.IntN(len(customers))]
		ends := func(key ClusterKey) State {
			if key.Namespace == hostile {
				return []State{Failed, Progressing, Unreachable}[source.IntN(3)]
			}
			return Ready
		}
		for range 80 {
			input = settleTargets(source, input.After(PlanRollout(input)), ends)
		}
		for _, p := range first(match(input)) {
			if p.cluster.Namespace != hostile && !p.isReady() {
				t.Fatalf("%s/%s is not Ready beside %s: %+v", p.cluster.Namespace, p.cluster.Name, hostile, input)
			}
		}
	}
}
