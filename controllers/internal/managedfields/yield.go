package managedfields

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const replicasPointer = "/spec/replicas"

// Yielded returns the declared fields, as JSON pointers into the declared object, that are left to others, given
// who owns what now. An ignored field is yielded once somebody else has set it, one of the catalog once its
// program has, the number of replicas once an autoscaler has. A field that Daytwo still owns is not: to leave it
// out would remove it.
func (r Rules) Yielded(object metav1.Object, s Subject) ([]string, error) {
	entries := object.GetManagedFields()
	own, err := r.OwnFields(entries)
	if err != nil {
		return nil, err
	}
	s.own = own
	var yielded []string
	for _, pointer := range s.Ignored {
		if !OwnsPointer(own, pointer) {
			yielded = append(yielded, pointer)
		}
	}
	if _, scaled := r.Scaler(entries); scaled && !OwnsPointer(own, replicasPointer) {
		yielded = append(yielded, replicasPointer)
	}
	for i := range entries {
		if r.isForeign(&entries[i]) {
			yielded = append(yielded, r.catalog.yielded(s, &entries[i])...)
		}
	}
	slices.Sort(yielded)
	return slices.Compact(yielded), nil
}

// yielded are the declared fields that a foreign entry took from ours, and that a row names.
func (c Catalog) yielded(s Subject, entry *metav1.ManagedFieldsEntry) []string {
	fields, err := Fields(entry)
	if err != nil || len(c) == 0 {
		return nil
	}
	var yielded []string
	fields.Leaves().Iterate(func(path fieldpath.Path) {
		if s.own.Has(path) || !c.excepts(s, entry, path) {
			return
		}
		if pointer, ok := Pointer(s.Declared, path); ok {
			yielded = append(yielded, pointer)
		}
	})
	return yielded
}
