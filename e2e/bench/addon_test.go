package main

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTheFloorAppliesTenObjects(t *testing.T) {
	objects, err := bareObjects("cache", tenObjects, "workload-1")
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 10 {
		t.Errorf("%d objects, want 10", len(objects))
	}
	var kinds []schema.GroupVersionResource
	for _, kind := range kindsInUse() {
		kinds = append(kinds, kind.GroupVersionResource)
	}
	for _, object := range objects {
		if !slices.Contains(kinds, object.GroupVersionResource) {
			t.Errorf("%s is not among the kinds in use", object.Resource)
		}
		if strings.Contains(string(object.Body), "{{") {
			t.Errorf("%s %s is not rendered: %s", object.Resource, object.Name, object.Body)
		}
		if (object.Namespace == "") != (object.Resource == "namespaces") {
			t.Errorf("%s %s is in namespace %q", object.Resource, object.Name, object.Namespace)
		}
	}
}

func TestEveryEditHasAnObjectOfItsOwn(t *testing.T) {
	tests := map[string]struct{ clusters, edits, want int }{
		"as many as fit": {20, 200, 11},
		"one more":       {20, 201, 12},
		"few":            {3, 1, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := &bench{options: options{clusters: test.clusters, edits: test.edits}}
			if got := b.objectsPerCluster(); got != test.want {
				t.Errorf("%d objects a cluster, want %d", got, test.want)
			}
		})
	}
}
