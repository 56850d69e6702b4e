package recovery

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxDifferences is how many fields of one object are told.
const maxDifferences = 20

// Differences are the fields of an archived object that a restored one lacks or has otherwise, at most 20, as in
// "spec.containers[0].image". Fields that only the restored one has are defaults of its cluster, and no difference; elements of
// lists are. Values are not told.
func Differences(archived, restored *unstructured.Unstructured, mapping Mapping) []string {
	found := fieldsThatDiffer(archivedForm(archived, mapping), canonical(restored), "", nil)
	return found[:min(len(found), maxDifferences)]
}

func fieldsThatDiffer(archived, restored any, path string, found []string) []string {
	if len(found) >= maxDifferences {
		return found
	}
	switch was := archived.(type) {
	case map[string]any:
		is, ok := restored.(map[string]any)
		if !ok {
			return append(found, path)
		}
		for _, key := range slices.Sorted(maps.Keys(was)) {
			found = fieldsThatDiffer(was[key], is[key], join(path, key), found)
		}
	case []any:
		is, ok := restored.([]any)
		if !ok || len(is) != len(was) {
			return append(found, path)
		}
		for i := range was {
			found = fieldsThatDiffer(was[i], is[i], fmt.Sprintf("%s[%d]", path, i), found)
		}
	default:
		if !reflect.DeepEqual(archived, restored) {
			return append(found, path)
		}
	}
	return found
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
