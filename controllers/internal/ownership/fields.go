package ownership

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// maxNamed is how many fields are named to people; a count of the rest follows.
const maxNamed = 10

// Names lists fields for people, as in ".spec.replicas": the leaves only, at most ten, and then how
// many more.
func Names(fields *fieldpath.Set) []string {
	var names []string
	more := 0
	fields.Leaves().Iterate(func(path fieldpath.Path) {
		if len(names) == maxNamed {
			more++
			return
		}
		names = append(names, strings.TrimSuffix(path.String(), "."))
	})
	if more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return names
}

// Intrudes says whether foreign entries own anything that the desired object does not declare.
// Then an apply alone would leave it, and a takeover is needed. A field that cannot be found in the
// desired object for want of defaults counts as undeclared: a needless takeover does no harm.
func Intrudes(foreign []metav1.ManagedFieldsEntry, desired map[string]any) bool {
	for i := range foreign {
		fields, err := Fields(&foreign[i])
		if err != nil {
			return true
		}
		intrudes := false
		fields.Leaves().Iterate(func(path fieldpath.Path) {
			intrudes = intrudes || !declares(desired, path)
		})
		if intrudes {
			return true
		}
	}
	return false
}

func declares(desired any, path fieldpath.Path) bool {
	for _, element := range path {
		next, ok := step(desired, element)
		if !ok {
			return false
		}
		desired = next
	}
	return true
}

func step(in any, element fieldpath.PathElement) (any, bool) {
	if element.FieldName != nil {
		object, _ := in.(map[string]any)
		next, ok := object[*element.FieldName]
		return next, ok
	}
	list, _ := in.([]any)
	for i, item := range list {
		if matches(item, i, element) {
			return item, true
		}
	}
	return nil, false
}

func matches(item any, index int, element fieldpath.PathElement) bool {
	switch {
	case element.Key != nil:
		object, _ := item.(map[string]any)
		for _, field := range *element.Key {
			if !value.Equals(value.NewValueInterface(object[field.Name]), field.Value) {
				return false
			}
		}
		return true
	case element.Value != nil:
		return value.Equals(value.NewValueInterface(item), *element.Value)
	case element.Index != nil:
		return index == *element.Index
	}
	return false
}
