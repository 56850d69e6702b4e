package policy

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// scope is which TenantClusters a view is made of. It does not change.
type scope struct {
	selection
	// own is the policy's namespace, and policy its kind and name, as in "SaaSAddon/cache".
	own, policy string
	// searched are the namespaces that are selected from.
	searched sets.Set[string]
	// named is selection.names as a set.
	named sets.Set[string]
	// refused: the selectors may not be used. What counts are the clusters that have a target, in whichever namespace: held.
	refused bool
	held    sets.Set[rollout.ClusterKey]
}

// selects is whether the policy selects a cluster, or holds one though its selectors are refused.
func (s *scope) selects(cluster *tenancyv1alpha1.TenantCluster) bool {
	if s.refused {
		return s.held.Has(clusterKey(cluster))
	}
	if !s.searched.Has(cluster.Namespace) || isClosed(cluster, s.policy) {
		return false
	}
	return cluster.Namespace == s.own && s.named.Has(cluster.Name) || s.clusters.Matches(labels.Set(cluster.Labels))
}

// isClosed is whether a cluster was ordered for a drill, which does not name the policy.
func isClosed(cluster *tenancyv1alpha1.TenantCluster, policy string) bool {
	_, ofDrill := cluster.Labels[metav1alpha1.LabelDrillCluster]
	return ofDrill && !slices.Contains(strings.Split(cluster.Annotations[metav1alpha1.AnnotationOpenTo], ","), policy)
}

// concerns is whether the view may have one of these states of a cluster. A scope that is not known is concerned by every
// cluster.
func (s *scope) concerns(states ...*tenancyv1alpha1.TenantCluster) bool {
	if s == nil {
		return true
	}
	for _, state := range states {
		if s.selects(state) {
			return true
		}
	}
	return false
}

// misses is whether a namespace with such labels is to be searched and is not, or the other way round.
func (s *scope) misses(namespace string, nowLabels labels.Set) bool {
	if s == nil {
		return true
	}
	if s.refused || s.namespaces == nil || namespace == s.own {
		return false
	}
	return s.namespaces.Matches(nowLabels) != s.searched.Has(namespace)
}

// lacks is whether one of the targets is in a cluster that is not held though its policy's selectors are refused.
func (s *scope) lacks(targets sets.Set[targetKey]) bool {
	if !s.refused {
		return false
	}
	for target := range targets {
		if !s.held.Has(target.cluster) {
			return true
		}
	}
	return false
}
