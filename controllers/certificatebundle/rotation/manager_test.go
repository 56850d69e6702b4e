package rotation

import (
	"fmt"
	"maps"
	"slices"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// simulatedManager has a cache of clusters, which is behind.
type simulatedManager struct {
	cache map[string]cachedCluster
	// stalled clusters are never brought up to date.
	stalled map[string]bool
}

type cachedCluster struct {
	cluster  Cluster
	version  int
	restores int
}

// restartManager begins with a cache of any age.
func (f *fleet) restartManager() {
	f.manager = &simulatedManager{cache: map[string]cachedCluster{}, stalled: map[string]bool{}}
	for _, one := range f.clusters {
		former := f.history[one.name]
		f.manager.stalled[one.name] = f.chance(15)
		if len(former) == 0 || f.chance(50) {
			f.refresh(one)
			continue
		}
		if behind := f.random.IntN(min(len(former), 4) + 1); behind > 0 {
			f.manager.cache[one.name] = cachedCluster{cluster: former[len(former)-behind]}
		}
	}
}

// refresh brings the cache up to date about one cluster.
func (f *fleet) refresh(c *simulatedCluster) {
	f.manager.cache[c.name] = f.cached(c, false)
}

// cached is a cluster as it is; one whose target is hidden has none for those who list.
func (f *fleet) cached(c *simulatedCluster, byName bool) cachedCluster {
	entry := cachedCluster{cluster: f.observed(c)}
	if c.target != nil {
		entry.version, entry.restores = c.target.version, max(c.target.restores, c.admitted)
		if c.target.hidden && !byName {
			entry.cluster.Target, entry.cluster.Leaving = nil, false
		}
	}
	return entry
}

// reconcile is one reconcile of the policy, which may end after any write.
func (f *fleet) reconcile(diesPercent int) {
	for _, one := range f.clusters {
		if f.chance(40) && !f.manager.stalled[one.name] {
			f.refresh(one)
		}
	}
	f.manager.forgetRemoved(f.clusters)
	view := maps.Clone(f.manager.cache)
	plan, seen := f.plan(view, false, nil), f.seen(view)
	listed, gone := false, []rollout.ClusterKey(nil)
	for round := 0; round < 3 && (plan.NeedsList && !listed || len(plan.LookUp) > 0); round++ {
		if plan.NeedsList && !listed {
			listed = true
			view = f.list()
		}
		for _, key := range plan.LookUp {
			gone = append(gone, f.lookUp(view, key)...)
		}
		plan, seen = f.plan(view, listed, gone), f.seen(view)
	}
	if f.chance(diesPercent) {
		return
	}
	f.carryOut(plan, view, seen, diesPercent)
}

func (m *simulatedManager) forgetRemoved(clusters []*simulatedCluster) {
	maps.DeleteFunc(m.cache, func(name string, _ cachedCluster) bool {
		return !slices.ContainsFunc(clusters, func(c *simulatedCluster) bool { return c.name == name })
	})
}

func (f *fleet) list() map[string]cachedCluster {
	view := map[string]cachedCluster{}
	for _, one := range f.clusters {
		view[one.name] = f.cached(one, false)
	}
	return view
}

func (f *fleet) lookUp(view map[string]cachedCluster, key rollout.ClusterKey) []rollout.ClusterKey {
	for _, one := range f.clusters {
		if one.key() == key && one.target != nil {
			view[one.name] = f.cached(one, true)
			return nil
		}
	}
	return []rollout.ClusterKey{key}
}

func (f *fleet) seen(view map[string]cachedCluster) knowledge {
	seen := knowledge{restores: map[string]int{}}
	for name, entry := range view {
		seen.restores[name] = entry.restores
	}
	return seen
}

func (f *fleet) plan(view map[string]cachedCluster, listed bool, gone []rollout.ClusterKey) Plan {
	input := Input{
		Namespace: simulatedNamespace, PolicyUID: simulatedPolicy, Spec: f.spec, Confirmation: f.confirmation, Record: f.record,
		Membership: f.memberships[f.record.Members.Hash], Listed: listed, Gone: gone, Now: f.now,
	}
	for _, authority := range f.authorities {
		input.Authorities = append(input.Authorities, authority)
	}
	for _, entry := range view {
		if entry.cluster.Selected || entry.cluster.Target != nil {
			input.Clusters = append(input.Clusters, entry.cluster)
		}
	}
	f.random.Shuffle(len(input.Clusters), func(i, j int) { input.Clusters[i], input.Clusters[j] = input.Clusters[j], input.Clusters[i] })
	return f.planner(input)
}

// carryOut writes the membership, the record, the authority and the targets, in this order.
func (f *fleet) carryOut(plan Plan, view map[string]cachedCluster, seen knowledge, diesPercent int) {
	f.memberships[plan.Record.Members.Hash] = plan.Membership
	if f.chance(diesPercent) {
		return
	}
	if f.record.Phase != plan.Record.Phase {
		f.visited[fmt.Sprintf("%s back=%t", plan.Record.Phase, plan.Record.RollingBack)]++
	}
	f.record = plan.Record
	seen.current, seen.next = plan.Record.Current.Generation, plan.Record.Next.Generation
	f.forgive()
	if f.chance(diesPercent) {
		return
	}
	maps.DeleteFunc(f.memberships, func(hash string, _ Membership) bool { return hash != f.record.Members.Hash })
	if plan.MakeAuthority != 0 && f.authorities[plan.MakeAuthority].Generation == 0 {
		f.made++
		f.authorities[plan.MakeAuthority] = Authority{Generation: plan.MakeAuthority, Anchor: fmt.Sprintf("anchor-%d", f.made), CreatedAt: f.now}
	}
	for _, generation := range plan.Retired {
		delete(f.authorities, generation)
	}
	for _, at := range f.random.Perm(len(plan.Wants)) {
		if f.chance(diesPercent) {
			return
		}
		if f.chance(75) && len(plan.Gates) == 0 { // A slot is free.
			f.tell(plan.Wants[at], view, seen)
		}
	}
}

// tell writes a target in the place of the one that the plan saw.
func (f *fleet) tell(want Want, view map[string]cachedCluster, seen knowledge) {
	at := slices.IndexFunc(f.clusters, func(c *simulatedCluster) bool { return c.key() == want.Cluster })
	if at < 0 {
		return
	}
	c, known := f.clusters[at], view[want.Cluster.Name]
	switch {
	case known.cluster.Target == nil && c.target == nil && c.selected:
		c.target = &simulatedTarget{Target: Target{Generation: 1, Told: want.Told}, trustSeen: seen, leafSeen: seen}
	case known.cluster.Target == nil || c.target == nil || c.target.version != known.version || c.target.Told.Equal(want.Told):
		return
	default:
		if c.target.Told.AnchorHash != want.Told.AnchorHash {
			c.target.trustSeen = seen
		}
		if c.target.Told.Issuer != want.Told.Issuer {
			c.target.leafSeen = seen
		}
		c.target.Told = want.Told
		c.target.Generation++
	}
	f.changed(c)
}
