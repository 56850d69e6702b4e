package saasaddon

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// problem is what only a person can mend; it becomes the add-on's Stalled condition.
type problem struct {
	reason  string
	message string
	// harmless: what is known already will do.
	harmless bool
	// passing: it may be mended without anybody's doing.
	passing bool
	// retry is when it is looked at again without being asked; zero for never.
	retry time.Time
}

// selection says which TenantClusters an add-on selects.
type selection struct {
	// clusters by label; selects nothing where the add-on has no clusterSelector.
	clusters labels.Selector
	// names of clusters in the add-on's own namespace.
	names []string
	// namespaces beside the add-on's own; nil where the add-on does not ask for any.
	namespaces labels.Selector
}

// selectionOf reads an add-on's selectors and refuses those that its namespace may not use.
func selectionOf(addon *addonsv1alpha1.SaaSAddon, providerNamespace string) (selection, *problem) {
	if refused := crossNamespaceProblem(addon, providerNamespace); refused != nil {
		return selection{}, refused
	}
	chosen := selection{names: addon.Spec.ClusterNames}
	var err error
	if chosen.clusters, err = metav1.LabelSelectorAsSelector(addon.Spec.ClusterSelector); err != nil {
		return selection{}, invalidSelector("clusterSelector", err)
	}
	if addon.Spec.ClusterNamespaceSelector == nil {
		return chosen, nil
	}
	if chosen.namespaces, err = metav1.LabelSelectorAsSelector(addon.Spec.ClusterNamespaceSelector); err != nil {
		return selection{}, invalidSelector("clusterNamespaceSelector", err)
	}
	return chosen, nil
}

// crossNamespaceProblem refuses to select across namespaces from a customer's namespace, or by
// anything that a customer could write.
func crossNamespaceProblem(addon *addonsv1alpha1.SaaSAddon, providerNamespace string) *problem {
	spec := addon.Spec
	if spec.ClusterNamespaceSelector == nil {
		return nil
	}
	if addon.Namespace != providerNamespace {
		return notAllowed("spec.clusterNamespaceSelector may be used in the provider's namespace %s only: remove it to select the clusters of namespace %s",
			providerNamespace, addon.Namespace)
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

func notAllowed(format string, args ...any) *problem {
	return &problem{reason: addonsv1alpha1.ReasonSelectorNotAllowed, message: fmt.Sprintf(format, args...)}
}

func invalidSelector(field string, err error) *problem {
	return &problem{reason: metav1alpha1.ReasonInvalidSpec, message: fmt.Sprintf("spec.%s is no valid selector: %v", field, err)}
}
