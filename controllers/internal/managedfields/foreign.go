package managedfields

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Change is what one foreign entry owns and may not.
type Change struct {
	metav1.ManagedFieldsEntry
	// Fields that are not tolerated. Nil if the entry cannot be read.
	Fields *fieldpath.Set

	index int
	kept  *fieldpath.Set
	// whole: nothing of the entry is tolerated.
	whole bool
	err   error
}

// Foreign returns what others own of an object and may not, by entry.
func (r Rules) Foreign(object metav1.Object, s Subject) []Change {
	changes, _ := r.assess(object.GetManagedFields(), s)
	return changes
}

// assess returns what others own and may not, and who owns something that may stay.
func (r Rules) assess(entries []metav1.ManagedFieldsEntry, s Subject) (changes []Change, tolerated []string) {
	for i := range entries {
		entry := &entries[i]
		if !r.isForeign(entry) {
			continue
		}
		if s.own == nil {
			s.own = r.ownOrNone(entries)
		}
		fields, err := Fields(entry)
		if err != nil {
			changes = append(changes, Change{ManagedFieldsEntry: *entry, index: i, whole: true, err: err})
			continue
		}
		kept, rest := r.split(s, entry, fields)
		if !kept.Empty() {
			tolerated = append(tolerated, entry.Manager)
		}
		if !rest.Empty() || kept.Empty() {
			changes = append(changes, Change{ManagedFieldsEntry: *entry, Fields: rest, index: i, kept: kept, whole: kept.Empty()})
		}
	}
	return changes, tolerated
}

// ownOrNone: an entry of ours that cannot be read declares nothing.
func (r Rules) ownOrNone(entries []metav1.ManagedFieldsEntry) *fieldpath.Set {
	own, err := r.OwnFields(entries)
	if err != nil {
		return fieldpath.NewSet()
	}
	return own
}
