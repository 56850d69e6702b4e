package managedfields

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"
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

// Intrudes says whether what others own and may not is more than the desired object declares.
// Then an apply alone would leave it, and a takeover is needed. A field that cannot be found in the
// desired object for want of defaults counts as undeclared: a needless takeover does no harm.
func Intrudes(foreign []Change, desired map[string]any) bool {
	for i := range foreign {
		if foreign[i].Fields == nil {
			return true
		}
		intrudes := false
		foreign[i].Fields.Leaves().Iterate(func(path fieldpath.Path) {
			intrudes = intrudes || !declares(desired, path)
		})
		if intrudes {
			return true
		}
	}
	return false
}

// Pointer is the JSON pointer to a field of an object, with the index that an item of a list has there; false
// if the object does not have it.
func Pointer(object map[string]any, path fieldpath.Path) (string, bool) {
	var pointer strings.Builder
	var in any = object
	for _, element := range path {
		next, ok := step(in, element)
		if !ok {
			return "", false
		}
		token := strconv.Itoa(indexOf(in, element))
		if element.FieldName != nil {
			token = jsonpointer.Escape(*element.FieldName)
		}
		pointer.WriteString("/" + token)
		in = next
	}
	return pointer.String(), true
}

func indexOf(list any, element fieldpath.PathElement) int {
	items, _ := list.([]any)
	for i, item := range items {
		if matches(item, i, element) {
			return i
		}
	}
	return -1
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
	if i := indexOf(in, element); i >= 0 {
		return in.([]any)[i], true
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
