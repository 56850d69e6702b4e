package rights

import (
	"errors"
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

func rule(verbs, groups, resources string, names ...string) authorizationv1.ResourceRule {
	split := func(text string) []string {
		var list []string
		for _, r := range text {
			list = append(list, map[rune]string{
				'g': "get", 'c': "create", '*': "*", '-': "", 'a': "apps", 'p': "pods", 'd': "deployments", 's': "deployments/scale", 'S': "*/scale",
			}[r])
		}
		return list
	}
	return authorizationv1.ResourceRule{Verbs: split(verbs), APIGroups: split(groups), Resources: split(resources), ResourceNames: names}
}

func TestRightsThatOthersLack(t *testing.T) {
	type rules = []authorizationv1.ResourceRule
	for name, c := range map[string]struct {
		had, has rules
		want     []right
	}{
		"the same":                  {rules{rule("gc", "-", "p")}, rules{rule("gc", "-", "p")}, nil},
		"in two rules":              {rules{rule("gc", "-", "p")}, rules{rule("g", "-", "p"), rule("c", "-", "p")}, nil},
		"all of it":                 {rules{rule("gc", "a", "ds")}, rules{rule("*", "*", "*")}, nil},
		"nothing":                   {rules{rule("g", "-", "p")}, nil, []right{{"get", "", "pods", ""}}},
		"one verb less":             {rules{rule("gc", "-", "p")}, rules{rule("g", "-", "p")}, []right{{"create", "", "pods", ""}}},
		"another group":             {rules{rule("g", "a", "d")}, rules{rule("g", "-", "d")}, []right{{"get", "apps", "deployments", ""}}},
		"any verb is more than one": {rules{rule("*", "-", "p")}, rules{rule("gc", "-", "p")}, []right{{"*", "", "pods", ""}}},
		"only one object":           {rules{rule("g", "-", "p")}, rules{rule("g", "-", "p", "web")}, []right{{"get", "", "pods", ""}}},
		"one object of several":     {rules{rule("g", "-", "p", "web")}, rules{rule("g", "-", "p", "db", "web")}, nil},
		"another object":            {rules{rule("g", "-", "p", "web", "db")}, rules{rule("g", "-", "p", "db")}, []right{{"get", "", "pods", "web"}}},
		"a subresource of anything": {rules{rule("g", "a", "s")}, rules{rule("g", "a", "S")}, nil},
		"a resource is no subresource": {rules{rule("g", "a", "s")}, rules{rule("g", "a", "d")},
			[]right{{"get", "apps", "deployments/scale", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := uncovered(c.had, c.has)
			if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
}

func TestMoreRightsThanCanBeComparedAreAnError(t *testing.T) {
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprint("r", i)
	}
	if _, err := uncovered([]authorizationv1.ResourceRule{{Verbs: many, APIGroups: many, Resources: many}}, nil); !errors.Is(err, errTooMany) {
		t.Errorf("got %v", err)
	}
}
