package main

import (
	"reflect"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

func rule(resources []string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: resources, Verbs: verbs}
}

func TestRulesForSecretsAreTakenOut(t *testing.T) {
	apps := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"secrets"}, Verbs: []string{"get"}}
	given := []rbacv1.PolicyRule{rule([]string{"configmaps", "secrets"}, "list"), rule([]string{"secrets"}, "get", "patch"), rule([]string{"namespaces"}, "get"), apps}
	others, secrets := split(given)
	if want := []rbacv1.PolicyRule{rule([]string{"configmaps"}, "list"), rule([]string{"namespaces"}, "get"), apps}; !reflect.DeepEqual(others, want) {
		t.Errorf("without Secrets: %v, want %v", others, want)
	}
	if want := []rbacv1.PolicyRule{rule([]string{"secrets"}, "list"), rule([]string{"secrets"}, "get", "patch")}; !reflect.DeepEqual(secrets, want) {
		t.Errorf("for Secrets: %v, want %v", secrets, want)
	}
	if len(given[0].Resources) != 2 {
		t.Errorf("the rules that were given are changed: %v", given)
	}
}
