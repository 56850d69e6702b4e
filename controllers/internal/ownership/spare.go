package ownership

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Spare lists fields, as JSON pointers (RFC 6901), that others may set. managedFields has keys where
// a pointer has an index, so an index in a pointer stands for every element of the list.
type Spare []string

// Covers says whether a field is spared: it is one of the listed, or below one.
func (s Spare) Covers(path fieldpath.Path) bool {
	for _, pointer := range s {
		if below(path, Tokens(pointer)) {
			return true
		}
	}
	return false
}

// OwnsPointer says whether a set of fields holds the field of a JSON pointer, or anything below it.
func OwnsPointer(fields *fieldpath.Set, pointer string) bool {
	return !Spare{pointer}.of(fields).Empty()
}

// of returns the spared ones among fields.
func (s Spare) of(fields *fieldpath.Set) *fieldpath.Set {
	spared := fieldpath.NewSet()
	if len(s) == 0 {
		return spared
	}
	fields.Iterate(func(path fieldpath.Path) {
		if s.Covers(path) {
			spared.Insert(path.Copy())
		}
	})
	return spared
}

// all says whether every field of an entry is spared.
func (s Spare) all(entry *metav1.ManagedFieldsEntry) bool {
	if len(s) == 0 {
		return false
	}
	fields, err := Fields(entry)
	if err != nil {
		return false
	}
	all := true
	fields.Leaves().Iterate(func(path fieldpath.Path) {
		all = all && s.Covers(path)
	})
	return all
}

// Tokens splits a JSON pointer into the names of the fields on its way (RFC 6901, section 4).
func Tokens(pointer string) []string {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(parts[i], "~1", "/"), "~0", "~")
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
