package policy

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// selection says which TenantClusters a policy selects.
type selection struct {
	// clusters by label; selects nothing where the policy has no clusterSelector.
	clusters labels.Selector
	// names of clusters in the policy's own namespace.
	names []string
	// namespaces beside the policy's own; nil where the policy does not ask for any.
	namespaces labels.Selector
}

// selectionOf reads a policy's selectors and refuses those that its namespace may not use.
func selectionOf(policy Policy, providerNamespace string) (selection, *Stall) {
	if refused := crossNamespaceStall(policy, providerNamespace); refused != nil {
		return selection{}, refused
	}
	spec := policy.GetPolicySpec()
	chosen := selection{names: spec.ClusterNames}
	var err error
	if chosen.clusters, err = metav1.LabelSelectorAsSelector(spec.ClusterSelector); err != nil {
		return selection{}, invalidSelector("clusterSelector", err)
	}
	if spec.ClusterNamespaceSelector == nil {
		return chosen, nil
	}
	if chosen.namespaces, err = metav1.LabelSelectorAsSelector(spec.ClusterNamespaceSelector); err != nil {
		return selection{}, invalidSelector("clusterNamespaceSelector", err)
	}
	return chosen, nil
}

// crossNamespaceStall refuses to select across namespaces from a customer's namespace, or by
// anything that a customer could write.
func crossNamespaceStall(policy Policy, providerNamespace string) *Stall {
	spec := policy.GetPolicySpec()
	if spec.ClusterNamespaceSelector == nil {
		return nil
	}
	if policy.GetNamespace() != providerNamespace {
		return notAllowed("spec.clusterNamespaceSelector may be used in the provider's namespace %s only: remove it to select the clusters of namespace %s",
			providerNamespace, policy.GetNamespace())
	}
	if len(spec.ClusterNames) > 0 {
		return notAllowed("spec.clusterNames may not be used together with spec.clusterNamespaceSelector: select by a label under %s in spec.clusterSelector", metav1alpha1.ProviderLabelPrefix)
	}
	for _, field := range []struct {
		name     string
		selector *metav1.LabelSelector
	}{
		{"clusterSelector", spec.ClusterSelector},
		{"clusterNamespaceSelector", spec.ClusterNamespaceSelector},
	} {
		if key := customerKey(field.selector); key != "" {
			return notAllowed("spec.%s uses the label %s, which customers can write: together with spec.clusterNamespaceSelector use labels under %s only",
				field.name, key, metav1alpha1.ProviderLabelPrefix)
		}
	}
	return nil
}

// customerKey is the first key of a selector that is not the provider's, in alphabetical order.
func customerKey(selector *metav1.LabelSelector) string {
	if selector == nil {
		return ""
	}
	var keys []string
	for key := range selector.MatchLabels {
		keys = append(keys, key)
	}
	for _, expression := range selector.MatchExpressions {
		keys = append(keys, expression.Key)
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return strings.HasPrefix(key, metav1alpha1.ProviderLabelPrefix) })
	if len(keys) == 0 {
		return ""
	}
	return slices.Min(keys)
}

func notAllowed(format string, args ...any) *Stall {
	return &Stall{Reason: metav1alpha1.ReasonSelectorNotAllowed, Message: fmt.Sprintf(format, args...)}
}

func invalidSelector(field string, err error) *Stall {
	return &Stall{Reason: metav1alpha1.ReasonInvalidSpec, Message: fmt.Sprintf("spec.%s is no valid selector: %v", field, err)}
}
