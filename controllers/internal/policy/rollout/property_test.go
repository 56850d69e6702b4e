package rollout

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

const rounds = 3000

// random gives a source whose seed is in the test's output.
func random(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func randomInput(source *rand.Rand) Input {
	chance := func(percent int) bool { return source.IntN(100) < percent }
	input := Input{Policy: policy(1 + source.IntN(4))}
	input.Policy.Hold = chance(5)
	input.Policy.Deleting = chance(5)
	for i := range source.IntN(12) {
		one := cluster(fmt.Sprintf("c%02d", i))
		one.Connected, one.Suspended, one.Deleting = chance(80), chance(10), chance(5)
		one.Closed, one.Leaving = chance(10), chance(10)
		if !chance(5) {
			input.Clusters = append(input.Clusters, one)
		}
		if chance(30) {
			continue
		}
		existing := target(one.Name, []string{oldRevision, newRevision}[source.IntN(2)], State(source.IntN(4)))
		existing.KnobsCurrent, existing.Deleting = chance(80), chance(5)
		if chance(10) {
			existing.Facts = "1.35"
		}
		input.Targets = append(input.Targets, existing)
	}
	return input
}

// onTheirWay are the connected clusters whose target has what it should have and is not ready.
func onTheirWay(input Input) (count int) {
	pairs, _ := match(input)
	for _, p := range pairs {
		if p.cluster.Connected && !p.target.leaving() && p.follows(input.Policy) && p.target.State != Ready {
			count++
		}
	}
	return count
}

// What is there in a cluster that is about to be deleted stays at its revision, and nothing new comes.
func TestALeavingClusterKeepsWhatItHas(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		kept := map[ClusterKey]bool{}
		for _, one := range input.Clusters {
			kept[one.ClusterKey] = one.Leaving && !one.Deleting && !input.Policy.Deleting
		}
		plan := Make(input)
		for _, created := range plan.Create {
			if kept[created.ClusterKey] {
				t.Fatalf("a target is created in %s: %+v", created.Name, input)
			}
		}
		for _, target := range input.Targets {
			moved := slices.ContainsFunc(plan.Move, func(m Move) bool { return m.Target == target.Name })
			if kept[target.Cluster] && (moved || slices.Contains(plan.Delete, target.Name)) {
				t.Fatalf("%s is moved or deleted: %+v", target.Name, input)
			}
		}
	}
}

func TestRolloutNeverExceedsItsSlots(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		plan := Make(input)
		moves := len(plan.Create) + len(plan.Move)
		if before := onTheirWay(input); moves > 0 && before+moves > input.Policy.MaxConcurrent {
			t.Fatalf("%d on their way, %d more moved, %d slots: %+v", before, moves, input.Policy.MaxConcurrent, input)
		}
	}
}

func TestNoReadyTargetIsTouchedWhileABrokenOneWaits(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		plan := Make(input)
		moved := map[string]bool{}
		for _, move := range plan.Move {
			moved[move.Target] = true
		}
		broken, others, _ := candidates(input.Policy, first(match(input)))
		for _, waiting := range broken {
			for _, other := range others {
				if !moved[waiting.target.Name] && other.target != nil && moved[other.target.Name] {
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
		if again := Make(input.After(Make(input))); !again.Empty() {
			t.Fatalf("second plan %+v for %+v", again, input)
		}
	}
}

func TestOrderOfInputDoesNotMatter(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		plan, summary := Make(input), Summarize(input)
		source.Shuffle(len(input.Clusters), func(i, j int) { input.Clusters[i], input.Clusters[j] = input.Clusters[j], input.Clusters[i] })
		source.Shuffle(len(input.Targets), func(i, j int) { input.Targets[i], input.Targets[j] = input.Targets[j], input.Targets[i] })
		if !reflect.DeepEqual(plan, Make(input)) || !reflect.DeepEqual(summary, Summarize(input)) {
			t.Fatalf("another order gives another result: %+v", input)
		}
	}
}

// Whatever it starts from, a rollout whose targets all become ready sometime reaches every
// cluster, and never has more clusters not ready than slots, or than there were already.
func TestRolloutConverges(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		input.Policy.Hold, input.Policy.Deleting = false, false
		for i := range input.Clusters {
			input.Clusters[i].Connected, input.Clusters[i].Suspended, input.Clusters[i].Closed = true, false, false
			if input.Clusters[i].Leaving {
				mend(&input, input.Clusters[i].ClusterKey) // Nothing that is broken there could be moved.
			}
		}
		limit := max(input.Policy.MaxConcurrent, notReady(input))
		for step := 0; ; step++ {
			if step > 100 {
				t.Fatalf("still not there: %+v", input)
			}
			plan := Make(input)
			plan.Adjust = nil // Knobs are written to all at once, by design.
			for i := range input.Targets {
				input.Targets[i].KnobsCurrent = true
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
		if p.target != nil && !p.target.Deleting && p.target.State != Ready {
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
