package assertion

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func objectsOf(t *testing.T, texts ...string) (objects []*unstructured.Unstructured) {
	t.Helper()
	for _, text := range texts {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	return objects
}

const (
	web    = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}, status: {readyReplicas: 2}}`
	worker = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: worker}, spec: {replicas: 1}}`
	secret = `{apiVersion: v1, kind: Secret, metadata: {name: password}, data: {password: b3Blbi1zZXNhbWU=}}`
)

func TestAssertions(t *testing.T) {
	for expression, test := range map[string]struct {
		objects []string
		holds   bool
		err     string
	}{
		"objects.size() == 2": {[]string{web, worker}, true, ""},
		"objects.exists(o, o.metadata.name == 'web' && o.status.readyReplicas == o.spec.replicas)": {[]string{web, worker}, true, ""},
		"objects.all(o, o.?status.readyReplicas.orValue(0) == o.spec.replicas)":                    {[]string{web, worker}, false, ""},
		"objects.all(o, o.status.readyReplicas == o.spec.replicas)":                                {[]string{worker}, false, "ask with has() first"},
		"objects.exists(o, o.data.password == 'b3Blbi1zZXNhbWU=')":                                 {[]string{secret}, false, ""},
		"objects.all(o, 'password' in o.data)":                                                     {[]string{secret}, true, ""},
		"objects[0].metadata":                                                                      {[]string{web}, false, "not a bool"},
		"objects.all(a, objects.all(b, objects.all(c, objects.all(d, objects.all(e, true)))))":     {many(web, 30), false, "costs too much"},
	} {
		assertion, err := Compile(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		holds, err := assertion.Holds(t.Context(), objectsOf(t, test.objects...))
		if holds != test.holds || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %t, %v; want %t, %q", expression, holds, err, test.holds, test.err)
		}
	}
}

func many(text string, count int) (texts []string) {
	for range count {
		texts = append(texts, text)
	}
	return texts
}

func TestWhatIsNoAssertionIsRefused(t *testing.T) {
	for expression, want := range map[string]string{
		"objects.size()":       "has to be a bool",
		"objects.size( == 2":   "Syntax error",
		"pods.size() == 2":     "undeclared reference",
		"objects.named('web')": "undeclared",
	} {
		if _, err := Compile(expression); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", expression, err)
		}
	}
}

func TestAnEvaluationEndsWithItsContext(t *testing.T) {
	assertion, err := Compile("objects.all(a, objects.all(b, objects.all(c, a == b && b == c)))")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := assertion.Holds(ctx, objectsOf(t, many(web, 50)...)); err == nil {
		t.Error("it was evaluated to its end")
	}
}
