package main

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// split takes the rules for Secrets out of others. A rule for Secrets and more becomes two. It is pure.
func split(rules []rbacv1.PolicyRule) (others, secrets []rbacv1.PolicyRule) {
	for _, rule := range rules {
		if !slices.Contains(rule.APIGroups, "") || !slices.Contains(rule.Resources, "secrets") {
			others = append(others, rule)
			continue
		}
		ofSecrets := *rule.DeepCopy()
		ofSecrets.APIGroups, ofSecrets.Resources = []string{""}, []string{"secrets"}
		secrets = append(secrets, ofSecrets)
		rest := *rule.DeepCopy()
		rest.Resources = slices.DeleteFunc(rest.Resources, func(resource string) bool { return resource == "secrets" })
		if len(rest.Resources) > 0 {
			others = append(others, rest)
		}
	}
	return others, secrets
}
