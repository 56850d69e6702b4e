package objects

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DefinedKinds returns the kinds that CRDs in the list define, and whether each is namespaced.
func DefinedKinds(list []*unstructured.Unstructured) map[schema.GroupKind]bool {
	defined := map[schema.GroupKind]bool{}
	for _, object := range list {
		if object.GroupVersionKind().GroupKind() != DefinitionKind {
			continue
		}
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		scope, _, _ := unstructured.NestedString(object.Object, "spec", "scope")
		defined[schema.GroupKind{Group: group, Kind: kind}] = scope != "Cluster"
	}
	return defined
}
