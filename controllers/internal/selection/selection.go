// Package selection says which clusters policies select, to those that have no view of all clusters (package policy has).
package selection

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Selects says whether a policy selects a cluster, whose namespace has the given labels. Of selectors that are refused nobody
// knows: they do.
func Selects(policy metav1alpha1.Policy, cluster *tenancyv1alpha1.TenantCluster, namespace labels.Set) bool {
	spec := policy.GetPolicySpec()
	if policy.GetNamespace() == cluster.Namespace {
		return slices.Contains(spec.ClusterNames, cluster.Name) || matches(spec.ClusterSelector, cluster.Labels)
	}
	return matches(spec.ClusterNamespaceSelector, namespace) && matches(spec.ClusterSelector, cluster.Labels)
}

// matches nothing where there is no selector.
func matches(selector *metav1.LabelSelector, set labels.Set) bool {
	made, err := metav1.LabelSelectorAsSelector(selector)
	return err != nil || made.Matches(set)
}
