package policy

import (
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// views are the views of all policies, and what events named since each was brought up to date. An event is kept as a
// name: the cache has an object before its event is handled, so what is read later is at least as new. A policy that is
// not followed yet needs no event: it reads everything when it is.
type views struct {
	// provider is the namespace whose policies may select in any namespace.
	provider string

	mutex sync.Mutex
	// byNamespace and name of the policy.
	byNamespace map[string]map[string]*followed
	// refused are the policies whose selectors are refused: they may hold clusters of any namespace.
	refused map[types.NamespacedName]*followed
}

// followed is one policy.
type followed struct {
	// view belongs to the reconcile of the policy, of which there is one at a time; nil if it has to be built.
	view *view
	// scope of the view; nil while it is built, when every event that may concern the policy is kept.
	scope   *scope
	changed changes
}

// changes are what a view has to read again.
type changes struct {
	all       bool
	revisions bool
	targets   sets.Set[targetKey]
	clusters  sets.Set[rollout.ClusterKey]
}

// targetKey names a target of a policy. Its cluster cannot be changed.
type targetKey struct {
	cluster rollout.ClusterKey
	name    string
}

func keyOf(target Target) targetKey {
	return targetKey{rollout.ClusterKey(target.GetTargetSpec().ClusterRef), target.GetName()}
}

// of is what is known of a policy, from now on with its events.
func (v *views) of(policy types.NamespacedName) *followed {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.byNamespace == nil {
		v.byNamespace = map[string]map[string]*followed{}
	}
	if v.byNamespace[policy.Namespace] == nil {
		v.byNamespace[policy.Namespace] = map[string]*followed{}
	}
	known := v.byNamespace[policy.Namespace][policy.Name]
	if known == nil {
		known = &followed{}
		v.byNamespace[policy.Namespace][policy.Name] = known
	}
	return known
}

// take returns what changed, and forgets it.
func (v *views) take(policy *followed) changes {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	changed := policy.changed
	policy.changed = changes{}
	return changed
}

// setScope says which events are kept; nil for all that may concern the policy.
func (v *views) setScope(key types.NamespacedName, policy *followed, scope *scope) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	policy.scope = scope
	delete(v.refused, key)
	if scope == nil || !scope.refused {
		return
	}
	if v.refused == nil {
		v.refused = map[types.NamespacedName]*followed{}
	}
	v.refused[key] = policy
	// Until now no event of another namespace was kept.
	policy.changed.clusters = scope.held.Union(policy.changed.clusters)
}

func (v *views) forget(policy types.NamespacedName) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	delete(v.refused, policy)
	delete(v.byNamespace[policy.Namespace], policy.Name)
	if len(v.byNamespace[policy.Namespace]) == 0 {
		delete(v.byNamespace, policy.Namespace)
	}
}

// note changes what a policy has to read again, if it is followed.
func (v *views) note(policy types.NamespacedName, change func(*changes)) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if known := v.byNamespace[policy.Namespace][policy.Name]; known != nil {
		change(&known.changed)
	}
}

func (v *views) noteTarget(policy types.NamespacedName, target targetKey) {
	v.note(policy, func(c *changes) { c.targets = inserted(c.targets, target) })
}

func (v *views) noteRevisions(policy types.NamespacedName) {
	v.note(policy, func(c *changes) { c.revisions = true })
}

// noteOne has one cluster read again.
func (v *views) noteOne(policy types.NamespacedName, cluster rollout.ClusterKey) {
	v.note(policy, func(c *changes) { c.clusters = inserted(c.clusters, cluster) })
}

// noteAll has everything read again.
func (v *views) noteAll(policy types.NamespacedName) {
	v.note(policy, func(c *changes) { c.all = true })
}

// noteCluster returns the policies that a change of a cluster concerns: those that select one of the states before and after.
func (v *views) noteCluster(states ...*tenancyv1alpha1.TenantCluster) (concerned []types.NamespacedName) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	key := clusterKey(states[0])
	note := func(name types.NamespacedName, policy *followed) {
		if policy.scope.concerns(states...) {
			policy.changed.clusters = inserted(policy.changed.clusters, key)
			concerned = append(concerned, name)
		}
	}
	for namespace := range sets.New(key.Namespace, v.provider) {
		for name, policy := range v.byNamespace[namespace] {
			if policy.scope == nil || !policy.scope.refused {
				note(types.NamespacedName{Namespace: namespace, Name: name}, policy)
			}
		}
	}
	for name, policy := range v.refused {
		note(name, policy)
	}
	return concerned
}

// noteNamespace returns the policies that select a namespace and did not before, or the other way round.
func (v *views) noteNamespace(name string, nowLabels labels.Set) []types.NamespacedName {
	return v.noteScopes(func(scope *scope) bool { return scope.misses(name, nowLabels) })
}

// noteNamespaceGone returns the policies that selected a namespace that is gone.
func (v *views) noteNamespaceGone(name string) []types.NamespacedName {
	return v.noteScopes(func(scope *scope) bool { return scope == nil || scope.searched.Has(name) })
}

// noteScopes has the provider's policies read everything again whose scope is another.
func (v *views) noteScopes(differs func(*scope) bool) (concerned []types.NamespacedName) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	for policy, known := range v.byNamespace[v.provider] {
		if differs(known.scope) {
			known.changed.all = true
			concerned = append(concerned, types.NamespacedName{Namespace: v.provider, Name: policy})
		}
	}
	return concerned
}

func inserted[K comparable](set sets.Set[K], key K) sets.Set[K] {
	if set == nil {
		set = sets.New[K]()
	}
	return set.Insert(key)
}

func clusterKey(cluster *tenancyv1alpha1.TenantCluster) rollout.ClusterKey {
	return rollout.ClusterKey{Namespace: cluster.Namespace, Name: cluster.Name}
}
