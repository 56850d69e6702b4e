package policy

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// view is what a rollout depends on, of one policy's clusters, targets and revisions. It is built from the cache when the
// policy is reconciled first, or was edited, and from then on only what events name is read again. So an event of one
// target costs no list of all. It holds no objects: those are the cache's.
type view struct {
	basis basis
	scope *scope
	// refused tells why the selectors may not be used; nil if they may.
	refused *Stall

	// clusters that the policy selects; where its selectors are refused, those that have a target. In order, as the
	// planner likes them, and so are the targets.
	clusters []rollout.Cluster
	targets  []rollout.Target
	// missing are names in spec.clusterNames that no TenantCluster has.
	missing []string
	// revision is what clusters should have that have none of their own.
	revision string
	// own are the clusters whose revision differs from the policy's.
	own sets.Set[rollout.ClusterKey]
	// applied are the revisions that targets have in their clusters, where it is not the one that they should have.
	applied map[targetKey]string
	// again is when the gates of a cluster may differ though nothing changes; next is the earliest of them, or earlier.
	again map[rollout.ClusterKey]time.Time
	next  time.Time

	// stored revisions; nil if they have to be listed.
	stored []revision.Stored
	listed bool
}

// basis is what of a policy a view is made with.
type basis struct {
	uid         types.UID
	generation  int64
	annotations map[string]string
	settings    settings
	deleting    bool
}

func basisOf(policy Policy, now time.Time) basis {
	return basis{
		uid: policy.GetUID(), generation: policy.GetGeneration(), annotations: policy.GetAnnotations(),
		settings: settingsOf(policy, now), deleting: !policy.GetDeletionTimestamp().IsZero(),
	}
}

func (b basis) equal(other basis) bool {
	return b.uid == other.uid && b.generation == other.generation && b.settings == other.settings && b.deleting == other.deleting &&
		maps.Equal(b.annotations, other.annotations)
}

func newView(basis basis) *view {
	return &view{basis: basis, own: sets.New[rollout.ClusterKey](), applied: map[targetKey]string{}, again: map[rollout.ClusterKey]time.Time{}}
}

// findCluster is where a cluster is, or would be.
func (v *view) findCluster(key rollout.ClusterKey) (int, bool) {
	return slices.BinarySearchFunc(v.clusters, key, func(known rollout.Cluster, key rollout.ClusterKey) int { return known.Compare(key) })
}

// findTarget is where a target is, or would be.
func (v *view) findTarget(key targetKey) (int, bool) {
	return slices.BinarySearchFunc(v.targets, key, func(known rollout.Target, key targetKey) int {
		if order := known.Cluster.Compare(key.cluster); order != 0 {
			return order
		}
		return strings.Compare(known.Name, key.name)
	})
}

// hasTargetIn is whether there is a target for a cluster.
func (v *view) hasTargetIn(cluster rollout.ClusterKey) bool {
	at, _ := v.findTarget(targetKey{cluster: cluster})
	return at < len(v.targets) && v.targets[at].Cluster == cluster
}

// setCluster puts a cluster in, or a newer state of it.
func (v *view) setCluster(wanted wantedCluster) {
	at, known := v.findCluster(wanted.ClusterKey)
	if !known {
		v.clusters = slices.Insert(v.clusters, at, rollout.Cluster{})
	}
	v.keep(wanted)
	v.clusters[at] = wanted.Cluster
}

// keep keeps what is known of a cluster beside what the planner needs.
func (v *view) keep(wanted wantedCluster) {
	v.own.Delete(wanted.ClusterKey)
	if wanted.own {
		v.own.Insert(wanted.ClusterKey)
	}
	delete(v.again, wanted.ClusterKey)
	if !wanted.again.IsZero() {
		v.again[wanted.ClusterKey] = wanted.again
		v.next = times.Earliest(v.next, wanted.again)
	}
}

func (v *view) removeCluster(key rollout.ClusterKey) {
	if at, known := v.findCluster(key); known {
		v.clusters = slices.Delete(v.clusters, at, at+1)
	}
	v.own.Delete(key)
	delete(v.again, key)
}

// setTarget puts a target in, or a newer state of it.
func (v *view) setTarget(target rollout.Target, applied string) {
	key := targetKey{target.Cluster, target.Name}
	at, known := v.findTarget(key)
	if !known {
		v.targets = slices.Insert(v.targets, at, rollout.Target{})
	}
	v.targets[at] = target
	v.keepApplied(key, target.Revision, applied)
}

func (v *view) keepApplied(key targetKey, wanted, applied string) {
	delete(v.applied, key)
	if applied != "" && applied != wanted {
		v.applied[key] = applied
	}
}

func (v *view) removeTarget(key targetKey) {
	if at, known := v.findTarget(key); known {
		v.targets = slices.Delete(v.targets, at, at+1)
	}
	delete(v.applied, key)
}

// sort puts a view in order that was filled at once.
func (v *view) sort() {
	slices.SortFunc(v.clusters, func(a, b rollout.Cluster) int { return a.Compare(b.ClusterKey) })
	slices.SortFunc(v.targets, func(a, b rollout.Target) int {
		if order := a.Cluster.Compare(b.Cluster); order != 0 {
			return order
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// due are the clusters whose gates may have changed by themselves.
func (v *view) due(now time.Time) (clusters []rollout.ClusterKey) {
	if v.next.IsZero() || now.Before(v.next) {
		return nil
	}
	v.next = time.Time{}
	for key, at := range v.again {
		if !now.Before(at) {
			clusters = append(clusters, key)
			continue
		}
		v.next = times.Earliest(v.next, at)
	}
	return clusters
}

// findMissing looks for the names of which there is no cluster.
func (v *view) findMissing() {
	v.missing = nil
	if v.scope == nil || v.scope.refused {
		return
	}
	for _, name := range v.scope.names {
		if _, known := v.findCluster(rollout.ClusterKey{Namespace: v.scope.own, Name: name}); !known {
			v.missing = append(v.missing, name)
		}
	}
	slices.Sort(v.missing)
	v.missing = slices.Compact(v.missing)
}

// setRevision sets what clusters should have that have no revision of their own.
func (v *view) setRevision(revision string) {
	if v.revision == revision {
		return
	}
	v.revision = revision
	for i := range v.clusters {
		if !v.own.Has(v.clusters[i].ClusterKey) {
			v.clusters[i].Revision = revision
		}
	}
}

// referencedRevisions are those that a target has or should have.
func (v *view) referencedRevisions() sets.Set[string] {
	referenced, last := sets.New[string](), ""
	refer := func(revision string) {
		if revision != last {
			referenced.Insert(revision)
		}
		last = revision
	}
	for i := range v.clusters {
		refer(v.clusters[i].Revision)
	}
	for i := range v.targets {
		refer(v.targets[i].Revision)
	}
	for _, applied := range v.applied {
		refer(applied)
	}
	return referenced
}
