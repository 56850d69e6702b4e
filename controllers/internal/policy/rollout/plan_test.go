package rollout

import (
	"slices"
	"testing"
	"time"
)

const (
	oldRevision = "cache-old"
	newRevision = "cache-new"
)

func policy(maxConcurrent int) Policy {
	return Policy{Namespace: "acme", Name: "cache", MaxConcurrent: maxConcurrent, Guard: Guard{MaxClusters: 3, MaxPercent: 20}}
}

func cluster(name string) Cluster {
	return Cluster{ClusterKey: ClusterKey{Namespace: "acme", Name: name}, Revision: newRevision, Parameters: "1.36", Connected: true}
}

func target(name, revision string, state State) Target {
	key := ClusterKey{Namespace: "acme", Name: name}
	return Target{
		Name: TargetName("cache", key), Cluster: key, Revision: revision, Parameters: "1.36", SettingsCurrent: true, State: state, Applied: true,
	}
}

// Gates as they are made for a suspension, a maintenance window and the steps of a cluster's deletion.
var (
	suspendedGate   = Gate{Reason: "Suspended", Message: "held back by suspension", Blocks: Create | Update, KeepsSlot: true}
	windowGate      = Gate{Reason: "WindowClosed", Message: "waiting for a maintenance window", Blocks: Update, KeepsSlot: true}
	terminatingGate = Gate{Reason: "Terminating", Message: "waiting for the steps of the deletion before this one", Blocks: Delete, KeepsSlot: true}
)

// with changes a copy of a value: for tables.
func with[T any](value T, change func(*T)) T {
	change(&value)
	return value
}

func TestPlan(t *testing.T) {
	unreachable := with(cluster("b"), func(c *Cluster) { c.Connected = false })
	suspended := with(cluster("b"), func(c *Cluster) { c.Gates = append(c.Gates, suspendedGate) })
	closed := with(cluster("b"), func(c *Cluster) { c.Gates = append(c.Gates, windowGate) })
	terminating := with(cluster("b"), func(c *Cluster) { c.Deleting, c.Gates = true, []Gate{terminatingGate} })
	deleting := with(cluster("b"), func(c *Cluster) { c.Deleting = true })

	yielding := with(cluster("b"), func(c *Cluster) { c.Gates = []Gate{{Reason: "Frozen", Blocks: Create | Update}} })
	urgent := with(cluster("b"), func(c *Cluster) { c.Gates, c.Overrides = []Gate{windowGate}, []string{windowGate.Reason} })

	hurried := func(name string) Cluster {
		return with(cluster(name), func(c *Cluster) { c.Overrides = []string{windowGate.Reason} })
	}

	tests := map[string]struct {
		policy   Policy
		clusters []Cluster
		targets  []Target
		// Clusters whose targets are to be created, updated, synced and deleted.
		create, update, sync, remove []string
		waiting                      int
	}{
		"every cluster gets a target": {
			policy: policy(10), clusters: []Cluster{cluster("b"), cluster("a")}, create: []string{"a", "b"},
		},
		"what is there waits for a maintenance window": {
			policy: policy(10), clusters: []Cluster{cluster("a"), closed},
			targets: []Target{target("a", oldRevision, Ready), target("b", oldRevision, Ready)}, update: []string{"a"},
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
			update:  []string{"b"}, waiting: 1,
		},
		"a newer revision overtakes an unfinished rollout within its slots": {
			policy: policy(2), clusters: []Cluster{cluster("a"), cluster("b"), cluster("c"), cluster("d")},
			targets: []Target{
				target("a", "cache-older", Ready), target("b", oldRevision, Progressing),
				target("c", oldRevision, Progressing), target("d", "cache-older", Ready),
			},
			update: []string{"b", "c"}, waiting: 2,
		},
		"an unreachable cluster holds no slot and is not moved": {
			policy: policy(1), clusters: []Cluster{unreachable, cluster("c")},
			targets: []Target{target("b", oldRevision, Unreachable), target("c", oldRevision, Ready)},
			update:  []string{"c"},
		},
		"a cluster that became unreachable on its way gives its slot back": {
			policy: policy(1), clusters: []Cluster{unreachable, cluster("c")},
			targets: []Target{target("b", newRevision, Progressing), target("c", oldRevision, Ready)},
			update:  []string{"c"},
		},
		"no target is created where nobody answers": {
			policy: policy(1), clusters: []Cluster{unreachable},
		},
		"a suspended cluster is not moved, and its settings are": {
			policy: policy(1), clusters: []Cluster{suspended},
			targets: []Target{with(target("b", oldRevision, Ready), func(t *Target) { t.SettingsCurrent = false })},
			sync:    []string{"b"},
		},
		"a policy on hold moves nothing": {
			policy:   with(policy(5), func(p *Policy) { p.Gates = []Gate{suspendedGate} }),
			clusters: []Cluster{cluster("a"), cluster("b")}, targets: []Target{target("b", oldRevision, Failed)},
		},
		"changed parameters are an update": {
			policy: policy(1), clusters: []Cluster{cluster("a")},
			targets: []Target{with(target("a", newRevision, Ready), func(t *Target) { t.Parameters = "1.35" })},
			update:  []string{"a"},
		},
		"settings need no slot": {
			policy: policy(1), clusters: []Cluster{cluster("a"), cluster("b"), cluster("c")},
			targets: []Target{
				target("a", newRevision, Progressing),
				with(target("b", oldRevision, Ready), func(t *Target) { t.SettingsCurrent = false }),
				with(target("c", newRevision, Ready), func(t *Target) { t.SettingsCurrent = false }),
			},
			sync: []string{"b", "c"}, waiting: 1,
		},
		"a cluster that is not selected any more loses its target": {
			policy: policy(1), clusters: []Cluster{cluster("a")},
			targets: []Target{target("a", newRevision, Ready), target("z", newRevision, Ready)},
			remove:  []string{"z"},
		},
		"a cluster about to be deleted keeps its target as it is, with current settings": {
			policy: policy(2), clusters: []Cluster{cluster("a"), terminating},
			targets: []Target{
				target("a", oldRevision, Ready),
				with(target("b", oldRevision, Failed), func(t *Target) { t.SettingsCurrent, t.Parameters = false, "1.35" }),
			},
			update: []string{"a"}, sync: []string{"b"},
		},
		"a cluster about to be deleted gets no first target": {
			policy: policy(1), clusters: []Cluster{terminating},
		},
		"a target that failed in a cluster about to be deleted keeps its slot": {
			policy: policy(1), clusters: []Cluster{cluster("a"), terminating},
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
				with(target("a", newRevision, Ready), func(t *Target) { t.SettingsCurrent = false }),
				target("b", newRevision, Unreachable),
			},
			sync: []string{"a"}, remove: []string{"a", "b"},
		},
		"a gate that gives its slot back delays no other cluster": {
			policy: policy(1), clusters: []Cluster{cluster("a"), yielding},
			targets: []Target{target("a", oldRevision, Ready), target("b", newRevision, Failed)}, update: []string{"a"},
		},
		"an urgent cluster passes the gates that it overrides": {
			policy: policy(1), clusters: []Cluster{cluster("a"), urgent},
			targets: []Target{target("a", oldRevision, Ready), target("b", oldRevision, Ready)}, update: []string{"b"}, waiting: 1,
		},
		"an urgent update waits for no slot": {
			policy: policy(1), clusters: []Cluster{cluster("a"), urgent, cluster("c")},
			targets: []Target{target("a", newRevision, Progressing), target("b", oldRevision, Ready), target("c", oldRevision, Ready)},
			update:  []string{"b"}, waiting: 1,
		},
		"more updates are urgent than there are slots": {
			policy: policy(1), clusters: []Cluster{hurried("a"), hurried("b"), hurried("c")},
			targets: []Target{target("a", oldRevision, Ready), target("b", oldRevision, Failed), target("c", oldRevision, Ready)},
			update:  []string{"b", "a", "c"},
		},
		"an urgent update takes a slot from others": {
			policy: policy(2), clusters: []Cluster{cluster("a"), hurried("b"), cluster("c")},
			targets: []Target{target("a", oldRevision, Ready), target("b", oldRevision, Ready), target("c", oldRevision, Ready)},
			update:  []string{"b", "a"}, waiting: 1,
		},
		"after an urgent update, others wait for it": {
			policy: policy(1), clusters: []Cluster{cluster("a"), hurried("b")},
			targets: []Target{target("a", oldRevision, Ready), target("b", newRevision, Progressing)}, waiting: 1,
		},
		"an urgent first target waits for a slot": {
			policy: policy(1), clusters: []Cluster{cluster("a"), hurried("b")}, targets: []Target{target("a", newRevision, Progressing)}, waiting: 1,
		},
		"an urgent first target comes before others": {
			policy: policy(1), clusters: []Cluster{cluster("a"), hurried("b")}, create: []string{"b"}, waiting: 1,
		},
		"other content is a change": {
			policy: policy(1), clusters: []Cluster{with(cluster("a"), func(c *Cluster) { c.Content = "key-2" }), with(cluster("b"), func(c *Cluster) { c.Content = "key-1" })},
			targets: []Target{with(target("a", newRevision, Ready), func(t *Target) { t.Content = "key-1" }), with(target("b", newRevision, Ready), func(t *Target) { t.Content = "key-1" })},
			update:  []string{"a"},
		},
		"an urgent cluster waits for the other gates": {
			policy:   with(policy(2), func(p *Policy) { p.Gates = []Gate{suspendedGate} }),
			clusters: []Cluster{urgent}, targets: []Target{target("b", oldRevision, Ready)},
		},
		"a gate of the policy holds deletions back": {
			policy:  with(policy(1), func(p *Policy) { p.Gates = []Gate{{Reason: "Frozen", Blocks: Delete, KeepsSlot: true}} }),
			targets: []Target{target("z", newRevision, Ready)},
		},
		"each cluster gets its own revision": {
			policy: policy(3), clusters: []Cluster{cluster("a"), with(cluster("b"), func(c *Cluster) { c.Revision = oldRevision })},
			targets: []Target{target("a", oldRevision, Ready), target("b", oldRevision, Ready)}, update: []string{"a"},
		},
		"a target that is being deleted is waited for": {
			policy: policy(1), clusters: []Cluster{cluster("a")},
			targets: []Target{with(target("a", oldRevision, Ready), func(t *Target) { t.Deleting = true })},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := PlanRollout(Input{Policy: test.policy, Clusters: test.clusters, Targets: test.targets})

			var create, update []string
			for _, cluster := range plan.Create {
				create = append(create, cluster.Name)
			}
			for _, one := range plan.Update {
				update = append(update, one.Cluster.Name)
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
				"create": {create, test.create}, "update": {update, test.update},
				"sync": {clustersOf(plan.SyncSettings), test.sync}, "delete": {clustersOf(plan.Delete), test.remove},
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

func TestPlanAsksToBeCalledWhenTheFirstGateOpens(t *testing.T) {
	until := func(gate Gate, after time.Duration) []Gate {
		gate.Until = noon.Add(after)
		return []Gate{gate}
	}
	input := Input{Policy: policy(1), Now: noon, Clusters: []Cluster{
		with(cluster("a"), func(c *Cluster) { c.Gates = until(windowGate, time.Hour) }),
		with(cluster("b"), func(c *Cluster) { c.Gates = until(suspendedGate, time.Minute) }),
		with(cluster("c"), func(c *Cluster) { c.Gates = until(suspendedGate, -time.Minute) }),
		with(cluster("d"), func(c *Cluster) { c.Gates = []Gate{suspendedGate} }),
	}}
	if again := PlanRollout(input).Again; !again.Equal(noon.Add(time.Minute)) {
		t.Errorf("it asks for %s", again)
	}
	input.Policy.Gates = until(suspendedGate, time.Second)
	if again := PlanRollout(input).Again; !again.Equal(noon.Add(time.Second)) {
		t.Errorf("with a gate of the policy it asks for %s", again)
	}
	input.Policy.Gates, input.Clusters = nil, input.Clusters[2:]
	if again := PlanRollout(input).Again; !again.IsZero() {
		t.Errorf("without a gate that opens by itself it asks for %s", again)
	}
}
