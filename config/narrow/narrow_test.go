// Package narrow_test looks at what config/narrow applies.
package narrow_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const account = "daytwo-controller-manager"

// all returns the objects of a kind in config/narrow, by name.
func all[T any](t *testing.T, kind string) map[string]T {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), ".")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]T{}
	for _, resource := range built.Resources() {
		if resource.GetKind() != kind {
			continue
		}
		content, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		var object T
		if err := yaml.UnmarshalStrict(content, &object); err != nil {
			t.Fatal(err)
		}
		found[resource.GetName()] = object
	}
	return found
}

// rights takes rules apart.
func rights(rules ...rbacv1.PolicyRule) map[string]bool {
	found := map[string]bool{}
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{"*"}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					for _, verb := range rule.Verbs {
						found[strings.Join([]string{group, resource, name, verb}, "|")] = true
					}
				}
			}
		}
	}
	return found
}

// Both are generated. Who changes a marker and forgets make manifests is told.
func TestBothRolesTogetherAreTheWholeRole(t *testing.T) {
	content, err := os.ReadFile("../rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	whole := rbacv1.ClusterRole{}
	for _, document := range strings.Split(string(content), "\n---\n") {
		role := rbacv1.ClusterRole{}
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		if role.Kind == "ClusterRole" {
			whole = role
		}
	}
	roles := all[rbacv1.ClusterRole](t, "ClusterRole")
	narrow, secrets := roles["daytwo-manager"].Rules, roles["daytwo-secrets"].Rules
	if got, want := rights(slices.Concat(narrow, secrets)...), rights(whole.Rules...); !maps.Equal(got, want) || len(want) == 0 {
		t.Errorf("together they permit %v, and config/rbac/role.yaml %v: run make manifests", got, want)
	}
	for right := range rights(secrets...) {
		if !strings.HasPrefix(right, "|secrets|") {
			t.Errorf("the role for Secrets permits %s", right)
		}
	}
}

func TestNoRoleThatTheManagerHasInAllNamespacesReachesSecrets(t *testing.T) {
	roles := all[rbacv1.ClusterRole](t, "ClusterRole")
	bound := 0
	for name, binding := range all[rbacv1.ClusterRoleBinding](t, "ClusterRoleBinding") {
		if !slices.ContainsFunc(binding.Subjects, func(subject rbacv1.Subject) bool { return subject.Name == account }) {
			continue
		}
		bound++
		role, known := roles[binding.RoleRef.Name]
		if !known {
			t.Errorf("%s binds %s, which is not looked at here", name, binding.RoleRef.Name)
		}
		for right := range rights(role.Rules...) {
			part := strings.Split(right, "|")
			if part[1] == "secrets" || part[1] == "*" || part[3] == "*" || part[3] == "escalate" || part[3] == "impersonate" ||
				part[3] == "bind" && part[2] != "daytwo-secrets" || part[1] == "clusterrolebindings" || part[1] == "serviceaccounts/token" {
				t.Errorf("%s permits %s", role.Name, right)
			}
		}
	}
	if bound == 0 {
		t.Error("the manager has no role")
	}
	for name, binding := range all[rbacv1.RoleBinding](t, "RoleBinding") {
		if binding.RoleRef.Name == "daytwo-secrets" && binding.Namespace != "daytwo-system" {
			t.Errorf("%s binds it in %s", name, binding.Namespace)
		}
	}
}

func TestTheManagerIsToldItsNamespaces(t *testing.T) {
	args := all[appsv1.Deployment](t, "Deployment")["daytwo-manager"].Spec.Template.Spec.Containers[0].Args
	if !slices.Contains(args, "--secret-namespaces=daytwo-system") || len(args) < 2 {
		t.Errorf("its arguments are %v, those of config/default among them", args)
	}
}
