package policy

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

const providerNamespace = "daytwo-system"

func TestSelectorsThatAreRefused(t *testing.T) {
	everything := &metav1.LabelSelector{}
	ours := &metav1.LabelSelector{MatchLabels: map[string]string{"provider.daytwo.dev/tier": "gold"}}
	theirs := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpExists}}}
	broken := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Is"}}}

	tests := map[string]struct {
		namespace string
		spec      addonsv1alpha1.SaaSAddonSpec
		reason    string
		message   []string
	}{
		"a customer selects in its own namespace": {
			namespace: "acme", spec: addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: theirs, ClusterNames: []string{"prod"}}},
		},
		"a customer does not select elsewhere": {
			namespace: "acme", spec: addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: ours, ClusterNamespaceSelector: ours}},
			reason: metav1alpha1.ReasonSelectorNotAllowed, message: []string{"spec.clusterNamespaceSelector", "namespace daytwo-system", "remove it"},
		},
		"the provider selects elsewhere by its own labels": {
			namespace: providerNamespace, spec: addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: everything, ClusterNamespaceSelector: ours}},
		},
		"the provider does not select elsewhere by a customer's labels": {
			namespace: providerNamespace, spec: addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: theirs, ClusterNamespaceSelector: ours}},
			reason: metav1alpha1.ReasonSelectorNotAllowed, message: []string{"spec.clusterSelector", "label tier", "provider.daytwo.dev/"},
		},
		"nor namespaces by a label that is not the provider's": {
			namespace: providerNamespace, spec: addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: ours, ClusterNamespaceSelector: theirs}},
			reason: metav1alpha1.ReasonSelectorNotAllowed, message: []string{"spec.clusterNamespaceSelector", "label tier"},
		},
		"nor by name": {
			namespace: providerNamespace, spec: addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{"prod"}, ClusterNamespaceSelector: ours}},
			reason: metav1alpha1.ReasonSelectorNotAllowed, message: []string{"spec.clusterNames"},
		},
		"the provider selects in its own namespace as it likes": {
			namespace: providerNamespace, spec: addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: theirs, ClusterNames: []string{"prod"}}},
		},
		"a selector that is none": {
			namespace: "acme", spec: addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: broken}},
			reason: metav1alpha1.ReasonInvalidSpec, message: []string{"spec.clusterSelector", "Is"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			addon := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace}, Spec: test.spec}
			_, refused := selectionOf(addon, providerNamespace)
			if refused == nil {
				refused = &Stall{}
			}
			if refused.Reason != test.reason {
				t.Errorf("refused %+v, want %q", refused, test.reason)
			}
			for _, part := range test.message {
				if !strings.Contains(refused.Message, part) {
					t.Errorf("message %q lacks %q", refused.Message, part)
				}
			}
		})
	}
}

func TestAClusterOfADrillIsSelectedByWhatItNamesAlone(t *testing.T) {
	open := map[string]string{metav1alpha1.AnnotationOpenTo: "SaaSAddon/velero,SaaSAddon/csi"}
	drill := map[string]string{metav1alpha1.LabelDrillCluster: "weekly"}
	for name, test := range map[string]struct {
		labels, annotations map[string]string
		selected            bool
	}{
		"an ordinary one":                    {nil, nil, true},
		"that of a drill":                    {drill, nil, false},
		"that of a drill, which names it":    {drill, open, true},
		"an ordinary one with an annotation": {nil, map[string]string{metav1alpha1.AnnotationOpenTo: "SaaSAddon/other"}, true},
	} {
		cluster := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "prod", Labels: test.labels, Annotations: test.annotations}}
		for how, chosen := range map[string]selection{"by label": {clusters: labels.Everything()}, "by name": {clusters: labels.Nothing(), names: []string{"prod"}}} {
			s := &scope{selection: chosen, own: "acme", policy: "SaaSAddon/csi", searched: sets.New("acme"), named: sets.New(chosen.names...)}
			if s.selects(cluster) != test.selected {
				t.Errorf("%s, %s: selected %t", name, how, !test.selected)
			}
		}
	}
}
