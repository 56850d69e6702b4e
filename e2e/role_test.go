package e2e

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

func TestTheManagersRoleHasNoWildcard(t *testing.T) {
	objects, err := manifests.Load("../config/rbac/role.yaml")
	must(t, err)
	rules := 0
	for _, object := range objects {
		role := rbacv1.ClusterRole{} // A Role's rules have the same form.
		must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role))
		for _, rule := range role.Rules {
			rules++
			for _, list := range [][]string{rule.Verbs, rule.APIGroups, rule.Resources, rule.NonResourceURLs} {
				if slices.ContainsFunc(list, func(entry string) bool { return entry == "*" || entry == "*/*" }) {
					t.Errorf("%s %s has a wildcard: %v", object.GetKind(), role.Name, rule)
				}
			}
		}
	}
	if rules == 0 {
		t.Error("there is no rule")
	}
}
