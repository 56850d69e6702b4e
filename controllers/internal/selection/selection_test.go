package selection

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

func TestAPolicySelects(t *testing.T) {
	labelled := func(pair ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{pair[0]: pair[1]}}
	}
	cluster := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "prod", Labels: map[string]string{"tier": "gold"}}}
	for _, row := range []struct {
		name      string
		namespace string
		spec      addonsv1alpha1.SaaSAddonSpec
		want      bool
	}{
		{"ByName", "acme", addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{"prod"}}}, true},
		{"ByLabel", "acme", addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: labelled("tier", "gold")}}, true},
		{"Another", "acme", addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: labelled("tier", "iron"), ClusterNames: []string{"test"}}}, false},
		{"Nothing", "acme", addonsv1alpha1.SaaSAddonSpec{}, false},
		{"ByNameInAnotherNamespace", "globex", addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{"prod"}}}, false},
		{"ByLabelInAnotherNamespace", "globex", addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: labelled("tier", "gold")}}, false},
		{"ByNamespace", "daytwo-system", addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: labelled("tier", "gold"), ClusterNamespaceSelector: labelled("plan", "b")}}, true},
		{"ByAnotherNamespace", "daytwo-system", addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: labelled("tier", "gold"), ClusterNamespaceSelector: labelled("plan", "c")}}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			addon := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: row.namespace, Name: "cache"}, Spec: row.spec}
			if got := Selects(addon, cluster, map[string]string{"plan": "b"}); got != row.want {
				t.Errorf("it selects: %v", got)
			}
		})
	}
}
