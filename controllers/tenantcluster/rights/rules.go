package rights

import (
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// right is one verb on one resource; on one object, unless name is empty.
type right struct{ verb, group, resource, name string }

// String is as in `create on deployments.apps`.
func (r right) String() string {
	text := fmt.Sprintf("%s on %s", r.verb, r.resource)
	if r.group != "" {
		text += "." + r.group
	}
	if r.name != "" {
		text += " " + r.name
	}
	return told(text)
}

func (r right) attributes(namespace string) *authorizationv1.ResourceAttributes {
	resource, sub, _ := strings.Cut(r.resource, "/")
	return &authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: r.verb, Group: r.group, Version: "*", Resource: resource, Subresource: sub, Name: r.name,
	}
}

// uncovered returns the rights that some rules give and others do not.
func uncovered(had, has []authorizationv1.ResourceRule) ([]right, error) {
	var missing []right
	compared := 0
	for _, rule := range had {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		if compared += len(rule.Verbs) * len(rule.APIGroups) * len(rule.Resources) * len(names); compared > maxCompared {
			return nil, errTooMany
		}
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range names {
						one := right{verb, group, resource, name}
						if !slices.ContainsFunc(has, one.isIn) {
							missing = append(missing, one)
						}
					}
				}
			}
		}
	}
	return missing, nil
}

// isIn says whether one rule gives the right.
func (r right) isIn(rule authorizationv1.ResourceRule) bool {
	return matches(rule.Verbs, r.verb) && matches(rule.APIGroups, r.group) && r.resourceIsIn(rule.Resources) &&
		(len(rule.ResourceNames) == 0 || r.name != "" && slices.Contains(rule.ResourceNames, r.name))
}

// resourceIsIn knows that RBAC writes a subresource of any resource as "*/scale".
func (r right) resourceIsIn(resources []string) bool {
	if matches(resources, r.resource) {
		return true
	}
	_, sub, has := strings.Cut(r.resource, "/")
	return has && slices.Contains(resources, "*/"+sub)
}

func matches(list []string, one string) bool {
	return slices.Contains(list, one) || slices.Contains(list, "*")
}
