package managedfields

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const replicasPointer = "/spec/replicas"

// Relinquished returns the declared fields, as JSON pointers into the declared object, that are left to others, given
// who owns what now. An ignored field is relinquished once somebody else has set it, one of the catalog once its
// program has, the number of replicas once an autoscaler has. A field that Daytwo still owns is not: to leave it
// out would remove it.
func (r Rules) Relinquished(object metav1.Object, s Subject) ([]string, error) {
	entries := object.GetManagedFields()
	own, err := r.OwnFields(entries)
	if err != nil {
		return nil, err
	}
	s.own = own
	var relinquished []string
	for _, pointer := range s.Ignored {
		if !OwnsPointer(own, pointer) {
			relinquished = append(relinquished, pointer)
		}
	}
	if _, scaled := r.Scaler(entries); scaled && !OwnsPointer(own, replicasPointer) {
		relinquished = append(relinquished, replicasPointer)
	}
	for i := range entries {
		if r.isForeign(&entries[i]) {
			relinquished = append(relinquished, r.catalog.relinquished(s, &entries[i])...)
		}
	}
	slices.Sort(relinquished)
	return slices.Compact(relinquished), nil
}

// relinquished are the declared fields that a foreign entry took from ours, and that a row names.
func (c Catalog) relinquished(s Subject, entry *metav1.ManagedFieldsEntry) []string {
	fields, err := Fields(entry)
	if err != nil || len(c) == 0 {
		return nil
	}
	var relinquished []string
	fields.Leaves().Iterate(func(path fieldpath.Path) {
		if s.own.Has(path) || !c.excepts(s, entry, path) {
			return
		}
		if pointer, ok := Pointer(s.Declared, path); ok {
			relinquished = append(relinquished, pointer)
		}
	})
	return relinquished
}
