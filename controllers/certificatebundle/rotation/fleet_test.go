package rotation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

const (
	simulatedNamespace = "team"
	simulatedPolicy    = "0c9a-policy"
)

// knowledge is what a plan could know.
type knowledge struct {
	// restores is, by cluster, which restore of it was reported.
	restores map[string]int
	// current and next are the authorities of its record.
	current, next int64
}

// simulatedTrust and simulatedLeaf are what is stored or loaded in a cluster, and where it is from.
type simulatedTrust struct {
	generations []int64
	hash        string
	// restore is the number of the restore that brought it; 0 if a target stored it.
	restore int
	// seen is what the plan knew that told it.
	seen knowledge
	// first: the cluster trusted nobody before. What a restore brought to another one may be trusted by nobody at all.
	first bool
}

type simulatedLeaf struct {
	issuer  int64
	restore int
	seen    knowledge
	// first: the cluster had no leaf before. It gets one though another one was restored and trusts none of the others' either.
	first bool
}

type simulatedState struct {
	trust simulatedTrust
	leaf  simulatedLeaf
}

// same is whether workloads have loaded what is stored.
func (s simulatedState) same(other simulatedState) bool {
	return s.trust.hash == other.trust.hash && s.leaf.issuer == other.leaf.issuer
}

type simulatedTarget struct {
	Target
	version  int
	hidden   bool // its label is removed: lists do not show it
	deleting bool
	// trustSeen and leafSeen are what the plans knew that told it last.
	trustSeen, leafSeen knowledge
	// restores is which restore of its cluster it has reported.
	restores int
}

type simulatedCluster struct {
	name      string
	id        string
	selected  bool
	reachable bool
	target    *simulatedTarget

	stored, loaded simulatedState
	loads          []time.Time
	snapshots      []simulatedState
	restores       int
	// admitted is the restore that gave it another identity last. Everybody knows of that one.
	admitted int
	// joined: it has loaded a bundle since it has its target.
	joined bool
	// tainted: a person excluded it, and it has not caught up since.
	tainted bool
	reloads bool // it reports ReloadComplete
	stuck   bool // nothing can be stored there, such as for a quota
}

func (c *simulatedCluster) key() rollout.ClusterKey {
	return rollout.ClusterKey{Namespace: simulatedNamespace, Name: c.name}
}

// fleet is a policy, its clusters, and time.
type fleet struct {
	random       *rand.Rand
	planner      func(Input) Plan
	now          time.Time
	spec         Spec
	confirmation string
	record       Record
	events       []event
	memberships  map[string]Membership
	authorities  map[int64]Authority
	clusters     []*simulatedCluster
	made         int
	version      int
	manager      *simulatedManager
	// history has former states of clusters, for caches that are behind.
	history map[string][]Cluster
	// emergency: the overlap was skipped, and not all clusters have caught up.
	emergency bool
	// excused are pairs that a restore broke and that are not whole again.
	excused map[[2]string]bool
	// visited counts which phases were entered.
	visited   map[string]int
	violation string
}

var beginning = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newFleet(seed uint64, planner func(Input) Plan) *fleet {
	f := &fleet{
		random: rand.New(rand.NewPCG(seed, 7)), planner: planner, now: beginning, memberships: map[string]Membership{}, authorities: map[int64]Authority{},
		history: map[string][]Cluster{}, excused: map[[2]string]bool{}, visited: map[string]int{},
	}
	f.events = events
	if f.chance(50) {
		f.events = restoredEvents
	}
	f.spec.CA = "first"
	f.spec.TrustPropagation.Duration = time.Duration(2+f.random.IntN(14)) * time.Minute
	f.spec.MinOverlap.Duration = f.spec.TrustPropagation.Duration + time.Duration(max(0, f.random.IntN(60)-20))*time.Minute
	for range 2 + f.random.IntN(5) {
		f.join()
	}
	f.restartManager()
	return f
}

func (f *fleet) chance(percent int) bool { return f.random.IntN(100) < percent }

func (f *fleet) pick() *simulatedCluster {
	if len(f.clusters) == 0 {
		return nil
	}
	return f.clusters[f.random.IntN(len(f.clusters))]
}

func (f *fleet) join() {
	f.made++
	f.clusters = append(f.clusters, &simulatedCluster{
		name: fmt.Sprintf("c%d", f.made), id: fmt.Sprintf("id-%d", f.made), selected: true, reachable: true, reloads: f.chance(30),
	})
}

// pass lets time pass; what workloads load in it is loaded in its order.
func (f *fleet) pass(span time.Duration) {
	end := f.now.Add(span.Truncate(time.Second))
	for f.violation == "" {
		var first *simulatedCluster
		for _, one := range f.clusters {
			if len(one.loads) > 0 && (first == nil || one.loads[0].Before(first.loads[0])) {
				first = one
			}
		}
		if first == nil || first.loads[0].After(end) {
			break
		}
		f.now = first.loads[0]
		first.loads = first.loads[1:]
		first.loaded = first.stored
		first.joined = first.joined || first.target != nil && len(first.loaded.trust.generations) > 0
		f.check()
	}
	f.now = end
}

// store lets workloads load what is stored at some time within trustPropagation.
func (f *fleet) store(c *simulatedCluster) {
	within := int(f.spec.TrustPropagation.Duration / time.Second)
	c.loads = append(c.loads, f.now.Add(time.Duration(f.random.IntN(within))*time.Second))
	slices.SortFunc(c.loads, time.Time.Compare)
}

// deliver is the work of a target in its cluster. It may end after any write.
func (f *fleet) deliver(c *simulatedCluster, diesPercent int) {
	target := c.target
	switch {
	case target == nil || !c.reachable:
		return
	case target.deleting:
		c.target, c.stored, c.loaded, c.loads, c.joined = nil, simulatedState{}, simulatedState{}, nil, false
		return
	case f.differsFromReport(c):
		f.report(c) // What differs is told before it is corrected.
		if f.chance(8 * diesPercent) {
			return
		}
	}
	if c.stuck {
		return
	}
	if told := target.Told; c.stored.trust.hash != told.AnchorHash {
		c.stored.trust = simulatedTrust{generations: told.Trust, hash: told.AnchorHash, seen: target.trustSeen, first: len(c.stored.trust.generations) == 0}
		f.store(c)
		if f.chance(diesPercent) {
			return
		}
	}
	if told := target.Told; told.Issuer != 0 && c.stored.leaf.issuer != told.Issuer {
		c.stored.leaf = simulatedLeaf{issuer: told.Issuer, seen: target.leafSeen, first: c.stored.leaf.issuer == 0}
		f.store(c)
		if f.chance(diesPercent) {
			return
		}
	}
	f.report(c)
}

func (f *fleet) differsFromReport(c *simulatedCluster) bool {
	reported := c.target.Acknowledged
	return reported.ClusterUID != "" && (reported.ClusterUID != c.id || reported.AnchorHash != c.stored.trust.hash || reported.Issuer != c.stored.leaf.issuer)
}

// report reads back what is stored.
func (f *fleet) report(c *simulatedCluster) {
	before := c.target.Acknowledged
	now := Acknowledgement{
		PolicyUID: simulatedPolicy, Generation: c.target.Generation, ClusterUID: c.id, AnchorHash: c.stored.trust.hash, Issuer: c.stored.leaf.issuer,
	}
	if len(c.stored.trust.generations) > 0 {
		now.TrustSince = metav1.NewTime(f.now)
	}
	if before.ClusterUID == c.id {
		now.ReplacedAt = before.ReplacedAt
		if before.AnchorHash == now.AnchorHash {
			now.TrustSince = before.TrustSince
		}
		if before.Issuer != 0 && before.Issuer != now.Issuer {
			now.ReplacedAt = metav1.NewTime(f.now)
		}
	}
	now.ReloadComplete = c.reloads && c.loaded.same(c.stored)
	c.target.Acknowledged, c.target.restores = now, c.restores
	f.changed(c)
}

// changed gives the target another version, and keeps the state for caches that are behind.
func (f *fleet) changed(c *simulatedCluster) {
	f.version++
	c.target.version = f.version
	f.remember(c)
}

func (f *fleet) remember(c *simulatedCluster) {
	f.history[c.name] = append(f.history[c.name], f.observed(c))
}

// observed is a cluster as a plan gets it.
func (f *fleet) observed(c *simulatedCluster) Cluster {
	seen := Cluster{ClusterKey: c.key(), ID: c.id, Selected: c.selected, Reachable: c.reachable}
	if c.target != nil {
		target := c.target.Target
		seen.Target, seen.Leaving = &target, c.target.deleting
	}
	return seen
}

// restoreLeaving puts a cluster back to a snapshot in which its leaf is from the authority that is replaced.
func (f *fleet) restoreLeaving(c *simulatedCluster) {
	kept := c.snapshots
	c.snapshots = nil
	for _, one := range kept {
		if leaf := one.leaf.issuer; leaf != 0 && leaf == leaving(&f.record).Generation {
			c.snapshots = append(c.snapshots, one)
		}
	}
	if len(c.snapshots) > 0 {
		f.restore(c)
		if f.chance(30) { // A watch shows it at once.
			f.deliver(c, 0)
		}
	}
	if len(c.snapshots) > 0 {
		c.snapshots = kept
	}
}

// restore puts a cluster back to a snapshot, or makes it anew.
func (f *fleet) restore(c *simulatedCluster) {
	c.restores++
	var state simulatedState
	made := len(c.snapshots) == 0 || f.chance(10)
	if !made {
		state = c.snapshots[f.random.IntN(len(c.snapshots))]
	}
	if made || f.chance(50) { // Another cluster takes its place, made anew or from the snapshot.
		f.made++
		c.id, c.admitted = fmt.Sprintf("id-%d", f.made), c.restores
	}
	if made {
		c.snapshots = nil
	}
	// What trusts nobody at all is like new: no plan can break it.
	c.joined = c.joined && len(state.trust.generations) > 0
	state.trust.restore, state.leaf.restore = c.restores, c.restores
	c.stored, c.loaded, c.loads = state, state, nil
}
