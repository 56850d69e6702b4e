package managedfields

import (
	"slices"
	"strings"

	"github.com/go-openapi/jsonpointer"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Ignored lists fields, as JSON pointers (RFC 6901), that others may set. managedFields has keys where
// a pointer has an index, so an index in a pointer stands for every element of the list.
type Ignored []string

// OwnsPointer says whether a set of fields holds the field of a JSON pointer, or anything below it.
func OwnsPointer(fields *fieldpath.Set, pointer string) bool {
	tokens, owns := Tokens(pointer), false
	fields.Iterate(func(path fieldpath.Path) { owns = owns || below(path, tokens) })
	return owns
}

// Tokens splits a JSON pointer into the names of the fields on its way (RFC 6901, section 4).
func Tokens(pointer string) []string {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range parts {
		parts[i] = jsonpointer.Unescape(parts[i])
	}
	return parts
}

func below(path fieldpath.Path, want []string) bool {
	if len(path) < len(want) {
		return false
	}
	for i, name := range want {
		if path[i].FieldName != nil && *path[i].FieldName != name {
			return false
		}
	}
	return true
}

// declaresPointer says whether an object has the field of a JSON pointer. An index, or *, stands for any item.
func declaresPointer(in any, tokens []string) bool {
	if len(tokens) == 0 {
		return true
	}
	switch typed := in.(type) {
	case map[string]any:
		next, ok := typed[tokens[0]]
		return ok && declaresPointer(next, tokens[1:])
	case []any:
		return slices.ContainsFunc(typed, func(item any) bool { return declaresPointer(item, tokens[1:]) })
	}
	return false
}
