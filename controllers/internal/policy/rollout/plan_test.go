package rollout

import (
	"slices"
	"testing"
)

const (
	oldRevision = "cache-old"
	newRevision = "cache-new"
)

func policy(maxConcurrent int) Policy {
	return Policy{Namespace: "acme", Name: "cache", Revision: newRevision, MaxConcurrent: maxConcurrent, Guard: Guard{MaxClusters: 3, MaxPercent: 20}}
}

func cluster(name string) Cluster {
	return Cluster{ClusterKey: ClusterKey{Namespace: "acme", Name: name}, Facts: "1.36", Connected: true}
}

func target(name, revision string, state State) Target {
	key := ClusterKey{Namespace: "acme", Name: name}
	return Target{
		Name: TargetName("cache", key), Cluster: key, Revision: revision, Facts: "1.36", KnobsCurrent: true, State: state,
	}
}

// with changes a copy of a value: for tables.
func with[T any](value T, change func(*T)) T {
	change(&value)
	return value
}

func TestPlan(t *testing.T) {
	unreachable := with(cluster("b"), func(c *Cluster) { c.Connected = false })
	suspended := with(cluster("b"), func(c *Cluster) { c.Suspended = true })
	closed := with(cluster("b"), func(c *Cluster) { c.Closed = true })
	leaving := with(cluster("b"), func(c *Cluster) { c.Leaving = true })
	deleting := with(cluster("b"), func(c *Cluster) { c.Deleting = true })

	tests := map[string]struct {
		policy   Policy
		clusters []Cluster
		targets  []Target
		// Clusters whose targets are to be created, moved, adjusted and deleted.
		create, move, adjust, remove []string
		waiting                      int
	}{
		"every cluster gets a target": {
			policy: policy(10), clusters: []Cluster{cluster("b"), cluster("a")}, create: []string{"a", "b"},
		},
		"what is there waits for a maintenance window": {
			policy: policy(10), clusters: []Cluster{cluster("a"), closed},
			targets: []Target{target("a", oldRevision, Ready), target("b", oldRevision, Ready)}, move: []string{"a"},
		},
		"a first target does not wait for a maintenance window": {
			policy: policy(10), clusters: []Cluster{closed}, create: []string{"b"},
		},
		"a target that failed after its window closed keeps its slot": {
			policy: policy(1), clusters: []Cluster{cluster("a"), closed},
			targets: []Target{target("a", oldRevision, Ready), target("b", newRevision, Failed)}, waiting: 1,
		},
		"slots limit how many are created at once": {
			policy: policy(1), clusters: []Cluster{cluster("a"), cluster("b")}, create: []string{"a"}, waiting: 1,
		},
		"a target on its way holds its slot": {
			policy: policy(1), clusters: []Cluster{cluster("a"), cluster("b")},
			targets: []Target{target("a", newRevision, Progressing), target("b", oldRevision, Ready)}, waiting: 1,
		},
		"a failed target holds the rollout": {
			policy: policy(1), clusters: []Cluster{cluster("a"), cluster("b")},
			targets: []Target{target("a", newRevision, Failed), target("b", oldRevision, Ready)}, waiting: 1,
		},
		"a broken target moves before a ready one": {
			policy: policy(1), clusters: []Cluster{cluster("a"), cluster("b")},
			targets: []Target{target("a", oldRevision, Ready), target("b", oldRevision, Failed)},
			move:    []string{"b"}, waiting: 1,
		},
		"a newer revision overtakes an unfinished rollout within its slots": {
			policy: policy(2), clusters: []Cluster{cluster("a"), cluster("b"), cluster("c"), cluster("d")},
			targets: []Target{
				target("a", "cache-older", Ready), target("b", oldRevision, Progressing),
				target("c", oldRevision, Progressing), target("d", "cache-older", Ready),
			},
			move: []string{"b", "c"}, waiting: 2,
		},
		"an unreachable cluster holds no slot and is not moved": {
			policy: policy(1), clusters: []Cluster{unreachable, cluster("c")},
			targets: []Target{target("b", oldRevision, Unreachable), target("c", oldRevision, Ready)},
			move:    []string{"c"},
		},
		"a cluster that became unreachable on its way gives its slot back": {
			policy: policy(1), clusters: []Cluster{unreachable, cluster("c")},
			targets: []Target{target("b", newRevision, Progressing), target("c", oldRevision, Ready)},
			move:    []string{"c"},
		},
		"no target is created where nobody answers": {
			policy: policy(1), clusters: []Cluster{unreachable},
		},
		"a suspended cluster is not moved, and its knobs are": {
			policy: policy(1), clusters: []Cluster{suspended},
			targets: []Target{with(target("b", oldRevision, Ready), func(t *Target) { t.KnobsCurrent = false })},
			adjust:  []string{"b"},
		},
		"a policy on hold moves nothing": {
			policy:   with(policy(5), func(p *Policy) { p.Hold = true }),
			clusters: []Cluster{cluster("a"), cluster("b")}, targets: []Target{target("b", oldRevision, Failed)},
		},
		"changed facts are a move": {
			policy: policy(1), clusters: []Cluster{cluster("a")},
			targets: []Target{with(target("a", newRevision, Ready), func(t *Target) { t.Facts = "1.35" })},
			move:    []string{"a"},
		},
		"knobs need no slot": {
			policy: policy(1), clusters: []Cluster{cluster("a"), cluster("b"), cluster("c")},
			targets: []Target{
				target("a", newRevision, Progressing),
				with(target("b", oldRevision, Ready), func(t *Target) { t.KnobsCurrent = false }),
				with(target("c", newRevision, Ready), func(t *Target) { t.KnobsCurrent = false }),
			},
			adjust: []string{"b", "c"}, waiting: 1,
		},
		"a cluster that is not selected any more loses its target": {
			policy: policy(1), clusters: []Cluster{cluster("a")},
			targets: []Target{target("a", newRevision, Ready), target("z", newRevision, Ready)},
			remove:  []string{"z"},
		},
		"a cluster about to be deleted keeps its target as it is, with current knobs": {
			policy: policy(2), clusters: []Cluster{cluster("a"), leaving},
			targets: []Target{
				target("a", oldRevision, Ready),
				with(target("b", oldRevision, Failed), func(t *Target) { t.KnobsCurrent, t.Facts = false, "1.35" }),
			},
			move: []string{"a"}, adjust: []string{"b"},
		},
		"a cluster about to be deleted gets no first target": {
			policy: policy(1), clusters: []Cluster{leaving},
		},
		"a target that failed in a cluster about to be deleted keeps its slot": {
			policy: policy(1), clusters: []Cluster{cluster("a"), leaving},
			targets: []Target{target("a", oldRevision, Ready), target("b", newRevision, Failed)}, waiting: 1,
		},
		"a cluster being deleted loses its target": {
			policy: policy(1), clusters: []Cluster{deleting}, targets: []Target{target("b", newRevision, Ready)},
			remove: []string{"b"},
		},
		"a policy being deleted loses all targets, after their deletion policy is written": {
			policy:   with(policy(1), func(p *Policy) { p.Deleting = true }),
			clusters: []Cluster{cluster("a"), unreachable},
			targets: []Target{
				with(target("a", newRevision, Ready), func(t *Target) { t.KnobsCurrent = false }),
				target("b", newRevision, Unreachable),
			},
			adjust: []string{"a"}, remove: []string{"a", "b"},
		},
		"a target that is being deleted is waited for": {
			policy: policy(1), clusters: []Cluster{cluster("a")},
			targets: []Target{with(target("a", oldRevision, Ready), func(t *Target) { t.Deleting = true })},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := Make(Input{Policy: test.policy, Clusters: test.clusters, Targets: test.targets})

			var create, move []string
			for _, cluster := range plan.Create {
				create = append(create, cluster.Name)
			}
			for _, one := range plan.Move {
				move = append(move, one.Cluster.Name)
			}
			clustersOf := func(names []string) []string {
				var clusters []string
				for _, name := range names {
					index := slices.IndexFunc(test.targets, func(t Target) bool { return t.Name == name })
					clusters = append(clusters, test.targets[index].Cluster.Name)
				}
				return clusters
			}
			for what, pair := range map[string][2][]string{
				"create": {create, test.create}, "move": {move, test.move},
				"adjust": {clustersOf(plan.Adjust), test.adjust}, "delete": {clustersOf(plan.Delete), test.remove},
			} {
				if !slices.Equal(pair[0], pair[1]) {
					t.Errorf("%s: got %v, want %v", what, pair[0], pair[1])
				}
			}
			if plan.Waiting != test.waiting {
				t.Errorf("waiting: got %d, want %d", plan.Waiting, test.waiting)
			}
		})
	}
}
