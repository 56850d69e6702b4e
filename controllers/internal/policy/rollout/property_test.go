package rollout

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

const rounds = 3000

// random gives a source whose seed is in the test's output.
func random(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// gates that a cluster or a policy may have.
var gates = []Gate{
	suspendedGate, windowGate,
	{Reason: "Frozen", Message: "frozen", Blocks: Create | Update},
	{Reason: "Retained", Message: "retained", Blocks: Delete},
	{Reason: "Disturbing", Message: "disturbing", Blocks: Update},
	{Reason: "Held", Message: "held", Blocks: Create | Update | Delete, KeepsSlot: true},
}

// customers whose clusters a shared policy selects.
var customers = []string{"acme", "globex", "initech", "umbrella"}

// randomGates closes each gate with a chance in percent.
func randomGates(source *rand.Rand, percent int) (closed []Gate) {
	for _, gate := range gates {
		if source.IntN(100) < percent {
			closed = append(closed, gate)
		}
	}
	return closed
}

// contents that a cluster may get beside its revision.
var contents = []string{"", "key-1", "key-2"}

func randomInput(source *rand.Rand) Input {
	chance := func(percent int) bool { return source.IntN(100) < percent }
	input := Input{Policy: policy(1 + source.IntN(4))}
	input.Policy.Gates = randomGates(source, 3)
	input.Policy.Deleting = chance(5)
	input.Now, input.Policy.ProgressDeadline = noon, 10*time.Minute
	input.Policy.Shared, input.Policy.MaxFailures = chance(50), source.IntN(5)
	for i := range source.IntN(12) {
		one := cluster(fmt.Sprintf("c%02d", i))
		if input.Policy.Shared {
			one.Namespace = customers[source.IntN(len(customers))]
		}
		one.Unwritten = chance(10)
		one.Connected, one.Gates = chance(80), randomGates(source, 10)
		if one.Deleting = chance(15); one.Deleting && chance(70) {
			one.Gates = append(one.Gates, terminatingGate)
		}
		if chance(20) {
			one.Overrides = []string{gates[source.IntN(len(gates))].Reason}
		}
		if chance(30) {
			one.Revision = oldRevision
		}
		one.Content = contents[source.IntN(len(contents))]
		if !chance(5) {
			input.Clusters = append(input.Clusters, one)
		}
		if chance(30) {
			continue
		}
		existing := target(one.Name, []string{oldRevision, newRevision}[source.IntN(2)], State(source.IntN(4)))
		existing.Cluster, existing.Name = one.ClusterKey, TargetName("cache", one.ClusterKey)
		if existing.State != Ready {
			existing.Since = noon.Add(-time.Duration(source.IntN(20)) * time.Minute)
		}
		existing.SettingsCurrent, existing.Deleting = chance(80), chance(5)
		if existing.Content = one.Content; chance(30) {
			existing.Content = contents[source.IntN(len(contents))]
		}
		if chance(10) {
			existing.Parameters = "1.35"
		}
		input.Targets = append(input.Targets, existing)
	}
	return input
}

// onTheirWay are the connected clusters whose target has what it should have and is not ready, apart from those that
// gave their slot back.
func onTheirWay(input Input) (count int) {
	pairs, _ := match(input)
	for _, p := range pairs {
		if p.cluster.Connected && p.isUpdated() && p.target.State != Ready && p.keepsSlot(&input.Policy) {
			count++
		}
	}
	return count
}

// What is there in a cluster that is about to be deleted stays at its revision, and nothing new comes.
func TestATerminatingClusterKeepsWhatItHas(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		kept := map[ClusterKey]bool{}
		for _, one := range input.Clusters {
			kept[one.ClusterKey] = one.Deleting && blocks(one.Gates, Delete) && !input.Policy.Deleting
		}
		plan := PlanRollout(input)
		for _, created := range plan.Create {
			if kept[created.ClusterKey] {
				t.Fatalf("a target is created in %s: %+v", created.Name, input)
			}
		}
		for _, target := range input.Targets {
			moved := slices.ContainsFunc(plan.Update, func(u TargetUpdate) bool { return u.Target == target.Name })
			if kept[target.Cluster] && (moved || slices.Contains(plan.Delete, target.Name)) {
				t.Fatalf("%s is moved or deleted: %+v", target.Name, input)
			}
		}
	}
}

// A gate that blocks a change is overridden by those alone that name its reason.
func TestNothingPassesAGateThatBlocksIt(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		plan := PlanRollout(input)
		check := func(cluster Cluster, change Changes) {
			for _, gate := range slices.Concat(input.Policy.Gates, cluster.Gates) {
				if gate.Blocks&change != 0 && !slices.Contains(cluster.Overrides, gate.Reason) {
					t.Fatalf("%s passes %s: %+v", cluster.Name, gate.Reason, input)
				}
			}
		}
		for _, created := range plan.Create {
			check(created, Create)
		}
		for _, update := range plan.Update {
			check(update.Cluster, Update)
		}
		if len(plan.Delete) > 0 && blocks(input.Policy.Gates, Delete) {
			t.Fatalf("%v are deleted: %+v", plan.Delete, input)
		}
		for _, one := range input.Clusters {
			deleted := slices.Contains(plan.Delete, TargetName(input.Policy.Name, one.ClusterKey))
			if deleted && !input.Policy.Deleting && (!one.Deleting || blocks(one.Gates, Delete)) {
				t.Fatalf("%s is deleted: %+v", one.Name, input)
			}
		}
	}
}

// Every change brings a cluster what it should have, whatever other clusters should.
func TestEveryChangeBringsWhatItsClusterShouldHave(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		wanted := map[ClusterKey]Cluster{}
		for _, one := range input.Clusters {
			wanted[one.ClusterKey] = one
		}
		plan := PlanRollout(input)
		for _, target := range input.After(plan).Targets {
			changed := target.Name == TargetName(input.Policy.Name, target.Cluster) && (slices.ContainsFunc(plan.Create, func(c Cluster) bool { return c.ClusterKey == target.Cluster }) ||
				slices.ContainsFunc(plan.Update, func(u TargetUpdate) bool { return u.Target == target.Name }))
			if want := wanted[target.Cluster]; changed && (target.Revision != want.Revision || target.Content != want.Content || target.Parameters != want.Parameters) {
				t.Fatalf("%s has %s with %q, not %s with %q: %+v", target.Name, target.Revision, target.Content, want.Revision, want.Content, input)
			}
		}
	}
}

// isQueuedWith is whether nothing but the order of their changes decides which of two pairs is first.
func (p pair) isQueuedWith(other pair) bool {
	return p.cluster.Namespace == other.cluster.Namespace && p.cluster.Unwritten == other.cluster.Unwritten
}

func TestNoOtherOfACustomerIsChangedWhileAnUrgentClusterWaits(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		plan := PlanRollout(input)
		changed := map[ClusterKey]bool{}
		for _, one := range plan.Create {
			changed[one.ClusterKey] = true
		}
		for _, one := range plan.Update {
			changed[one.Cluster.ClusterKey] = true
		}
		broken, others, _ := candidates(&input.Policy, first(match(input)))
		for _, class := range [][]pair{broken, others} {
			for _, urgent := range class {
				for _, other := range class {
					late := urgent.isQueuedWith(other) && len(urgent.cluster.Overrides) > 0 && !changed[urgent.cluster.ClusterKey]
					if late && len(other.cluster.Overrides) == 0 && changed[other.cluster.ClusterKey] {
						t.Fatalf("%s changes before %s: %+v", other.cluster.Name, urgent.cluster.Name, input)
					}
				}
			}
		}
	}
}

// Every selected cluster is counted once, and what waits is told by the reason of a gate that is closed.
func TestEverySelectedClusterIsCountedOnce(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		summary := Summarize(input)
		sum := summary.Ready.Count + summary.Failed.Count + summary.Unreachable.Count + summary.Unusable.Count + summary.Progressing.Count
		for _, waiting := range summary.Waiting {
			sum += waiting.Clusters.Count
			known := slices.ContainsFunc(gates, func(gate Gate) bool { return gate.Reason == waiting.Reason && gate.Message == waiting.Message })
			if !known || waiting.Clusters.Count == 0 {
				t.Fatalf("%+v waits: %+v", waiting, input)
			}
		}
		if sum != summary.Selected.Count {
			t.Fatalf("%d of %d are counted: %+v", sum, summary.Selected.Count, input)
		}
	}
}

func TestRolloutNeverExceedsItsSlots(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		plan := PlanRollout(input)
		moves, urgent := len(plan.Create)+len(plan.Update), 0
		for _, update := range plan.Update {
			if len(update.Cluster.Overrides) > 0 {
				urgent++
			}
		}
		slots := input.Policy.MaxConcurrent + mayReturn(input)
		if before := onTheirWay(input); moves > urgent && before+moves > slots {
			t.Fatalf("%d on their way, %d more moved, %d slots: %+v", before, moves, slots, input)
		}
	}
}

// What is urgent is updated now or held back by a gate that it does not override.
func TestAnUrgentUpdateNeverWaitsForASlot(t *testing.T) {
	source := random(t)
	updated := 0
	for range rounds {
		input := randomInput(source)
		plan := PlanRollout(input)
		for _, p := range first(match(input)) {
			if !p.isUrgent() || p.target == nil || p.target.Deleting || p.isCurrent() || p.cluster.Deleting || !p.cluster.Connected {
				continue
			}
			moved := slices.ContainsFunc(plan.Update, func(u TargetUpdate) bool { return u.Target == p.target.Name })
			if held := p.waitsFor(&input.Policy) != nil; moved == held {
				t.Fatalf("%s is updated %v, held back %v: %+v", p.target.Name, moved, held, input)
			}
			if moved {
				updated++
			}
		}
	}
	if updated == 0 {
		t.Error("nothing was urgent")
	}
}

// mayReturn is how many slots may be handed out again: those of failed targets beside which clusters of two other customers are
// Ready at the same revision.
func mayReturn(input Input) (count int) {
	pairs := first(match(input))
	for _, p := range pairs {
		others := map[string]bool{}
		for _, other := range pairs {
			if other.isReady() && other.cluster.Revision == p.cluster.Revision && other.cluster.Namespace != p.cluster.Namespace {
				others[other.cluster.Namespace] = true
			}
		}
		late := p.target != nil && !p.isPaused(&input.Policy) && !input.Now.Before(p.target.Since.Add(input.Policy.ProgressDeadline))
		failed := p.isUpdated() && p.cluster.Connected && (p.target.State == Failed || p.target.State != Ready && late)
		if input.Policy.Shared && failed && len(others) >= 2 {
			count++
		}
	}
	return min(count, input.Policy.MaxFailures)
}

// Urgent ones apart, which wait for nothing.
func TestNoReadyTargetOfACustomerIsTouchedWhileABrokenOneWaits(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		plan := PlanRollout(input)
		moved := map[string]bool{}
		for _, move := range plan.Update {
			moved[move.Target] = true
		}
		broken, others, _ := candidates(&input.Policy, first(match(input)))
		for _, waiting := range broken {
			for _, other := range others {
				if waiting.isQueuedWith(other) && !moved[waiting.target.Name] && other.target != nil && !other.isUrgent() && moved[other.target.Name] {
					t.Fatalf("%s moved before %s: %+v", other.target.Name, waiting.target.Name, input)
				}
			}
		}
	}
}

func first[A, B any](a A, _ B) A { return a }

func TestPlanningTwiceChangesNothing(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		if again := PlanRollout(input.After(PlanRollout(input))); !again.Empty() {
			t.Fatalf("second plan %+v for %+v", again, input)
		}
	}
}

func TestOrderOfInputDoesNotMatter(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		plan, summary := PlanRollout(input), Summarize(input)
		source.Shuffle(len(input.Clusters), func(i, j int) { input.Clusters[i], input.Clusters[j] = input.Clusters[j], input.Clusters[i] })
		source.Shuffle(len(input.Targets), func(i, j int) { input.Targets[i], input.Targets[j] = input.Targets[j], input.Targets[i] })
		if !reflect.DeepEqual(plan, PlanRollout(input)) || !reflect.DeepEqual(summary, Summarize(input)) {
			t.Fatalf("another order gives another result: %+v", input)
		}
	}
}

// Whatever it starts from, a rollout whose targets all become ready sometime reaches every
// cluster, and never has more clusters not ready than slots, or than there were already. Urgent ones are not counted.
func TestRolloutConverges(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		input.Policy.Gates, input.Policy.Deleting = nil, false
		for i := range input.Clusters {
			input.Clusters[i].Connected, input.Clusters[i].Gates = true, nil
			input.Clusters[i].Unwritten = false
			if input.Clusters[i].Deleting && i%2 == 0 {
				input.Clusters[i].Gates = []Gate{terminatingGate}
				mend(&input, input.Clusters[i].ClusterKey) // Nothing that is broken there could be updated.
			}
		}
		limit := max(input.Policy.MaxConcurrent, notReady(input))
		if input.Policy.Shared {
			limit = max(limit, input.Policy.MaxConcurrent+input.Policy.MaxFailures)
		}
		for step := 0; ; step++ {
			if step > 100 {
				t.Fatalf("still not there: %+v", input)
			}
			plan := PlanRollout(input)
			plan.SyncSettings = nil // Settings are written to all at once, by design.
			for i := range input.Targets {
				input.Targets[i].SettingsCurrent = true
			}
			input = input.After(plan)
			if now := notReady(input); now > limit {
				t.Fatalf("%d not ready, at most %d may be: %+v", now, limit, input)
			}
			if summary := Summarize(input); summary.Ready.Count == summary.Selected.Count && len(plan.Delete) == 0 {
				break
			}
			input = report(source, input)
		}
	}
}

// mend makes a cluster's targets ready.
func mend(input *Input, cluster ClusterKey) {
	for i := range input.Targets {
		if input.Targets[i].Cluster == cluster {
			input.Targets[i].State = Ready
		}
	}
}

func notReady(input Input) (count int) {
	pairs, _ := match(input)
	for _, p := range pairs {
		if p.target != nil && !p.target.Deleting && p.target.State != Ready && !p.isUrgent() {
			count++
		}
	}
	return count
}

// report lets some targets become ready and those that are being deleted go.
func report(source *rand.Rand, input Input) Input {
	var left []Target
	for _, one := range input.Targets {
		if one.Deleting {
			continue
		}
		if source.IntN(2) == 0 {
			one.State = Ready
		}
		left = append(left, one)
	}
	input.Targets = left
	return input
}

func TestTargetNamesAreDistinctLabels(t *testing.T) {
	long := strings.Repeat("long-name.", 6)
	names := map[string]string{}
	for _, policy := range []string{"a", "a-b", long + "x", long + "y"} {
		for _, key := range []ClusterKey{{"n", "c"}, {"n", "b-c"}, {"m", "c"}, {"n", long + "1"}, {"n", long + "2"}, {"n", "c.d"}} {
			name := TargetName(policy, key)
			if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
				t.Errorf("%s: %v", name, problems)
			}
			if other, taken := names[name]; taken {
				t.Errorf("%s/%v and %s share the name %s", policy, key, other, name)
			}
			names[name] = fmt.Sprint(policy, key)
		}
	}
}
