package managedfields

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

type patchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Takeover returns a JSON patch that moves what others own and may not to Daytwo's own entry, so that
// the next apply removes whatever of it is not declared. Server-side apply alone would leave it. What
// is tolerated stays where it is. It returns nil if there is nothing to move.
//
// The patch tests the entries that it changes, and no others: a status update in between does not
// fail it, while a change by the same people does, so that nothing is left without an owner. Added
// finalizers and owner references, which no apply removes, are removed by the patch itself.
func (r Rules) Takeover(object metav1.Object, s Subject) ([]byte, error) {
	changes := r.Foreign(object, s)
	if len(changes) == 0 {
		return nil, nil
	}
	moved := fieldpath.NewSet()
	for i := range changes {
		if changes[i].err != nil {
			return nil, changes[i].err
		}
		moved = moved.Union(changes[i].Fields)
	}
	entries := object.GetManagedFields()
	operations, err := r.moveOperations(entries, changes, moved)
	if err != nil {
		return nil, err
	}
	removed := moved.Difference(r.stillOwned(entries, changes))
	operations = append(operations, removeFinalizers(object, removed)...)
	operations = append(operations, removeOwnerReferences(object, removed)...)
	return json.Marshal(operations)
}

// stillOwned is what we own already, and what others own besides what is moved: an item that a program set too
// stays.
func (r Rules) stillOwned(entries []metav1.ManagedFieldsEntry, changes []Change) *fieldpath.Set {
	owned := r.ownOrNone(entries)
	for i := range entries {
		at := slices.IndexFunc(changes, func(change Change) bool { return change.index == i })
		if at >= 0 {
			owned = owned.Union(changes[at].kept)
		} else if fields, err := Fields(&entries[i]); err == nil {
			owned = owned.Union(fields)
		}
	}
	return owned
}

// moveOperations merges what is moved into our entry, which is added if there is none.
func (c Controllers) moveOperations(entries []metav1.ManagedFieldsEntry, changes []Change, moved *fieldpath.Set) ([]patchOperation, error) {
	home := c.Ours(entries)
	merged := metav1.ManagedFieldsEntry{
		Manager: c.self, Operation: metav1.ManagedFieldsOperationApply,
		APIVersion: changes[0].APIVersion, Time: changes[0].Time, FieldsType: "FieldsV1",
	}
	var operations []patchOperation
	if home >= 0 {
		own, err := Fields(&entries[home])
		if err != nil {
			return nil, err
		}
		moved = moved.Union(own)
		merged = entries[home]
		operations = append(operations, patchOperation{Op: "test", Path: entryPath(home), Value: entries[home]})
	}
	for i := range changes {
		operations = append(operations, patchOperation{Op: "test", Path: entryPath(changes[i].index), Value: changes[i].ManagedFieldsEntry})
	}
	var err error
	if merged.FieldsV1, err = fieldsV1(moved); err != nil {
		return nil, err
	}
	if home >= 0 {
		operations = append(operations, patchOperation{Op: "replace", Path: entryPath(home), Value: merged})
	}
	for i := range slices.Backward(changes) {
		operation, err := changes[i].operation()
		if err != nil {
			return nil, err
		}
		operations = append(operations, operation)
	}
	if home < 0 {
		operations = append(operations, patchOperation{Op: "add", Path: "/metadata/managedFields/-", Value: merged})
	}
	return operations, nil
}

// operation empties a foreign entry, but for what is kept of it.
func (c Change) operation() (patchOperation, error) {
	if c.kept.Empty() {
		return patchOperation{Op: "remove", Path: entryPath(c.index)}, nil
	}
	rest := c.ManagedFieldsEntry
	var err error
	rest.FieldsV1, err = fieldsV1(c.kept)
	return patchOperation{Op: "replace", Path: entryPath(c.index), Value: rest}, err
}

func fieldsV1(set *fieldpath.Set) (*metav1.FieldsV1, error) {
	raw, err := set.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("write managed fields: %w", err)
	}
	return metav1.NewFieldsV1(string(raw)), nil
}

func entryPath(index int) string {
	return fmt.Sprintf("/metadata/managedFields/%d", index)
}

func removeFinalizers(object metav1.Object, moved *fieldpath.Set) []patchOperation {
	var operations []patchOperation
	for i, finalizer := range slices.Backward(object.GetFinalizers()) {
		if owned(moved, "finalizers", func(element fieldpath.PathElement) bool {
			return element.Value != nil && (*element.Value).IsString() && (*element.Value).AsString() == finalizer
		}) {
			operations = append(operations, removeTested(fmt.Sprintf("/metadata/finalizers/%d", i), finalizer)...)
		}
	}
	return operations
}

func removeOwnerReferences(object metav1.Object, moved *fieldpath.Set) []patchOperation {
	var operations []patchOperation
	for i, reference := range slices.Backward(object.GetOwnerReferences()) {
		if owned(moved, "ownerReferences", func(element fieldpath.PathElement) bool {
			if element.Key == nil {
				return false
			}
			return slices.ContainsFunc(*element.Key, func(field value.Field) bool {
				return field.Name == "uid" && field.Value.IsString() && field.Value.AsString() == string(reference.UID)
			})
		}) {
			operations = append(operations, removeTested(fmt.Sprintf("/metadata/ownerReferences/%d", i), reference)...)
		}
	}
	return operations
}

func removeTested(path string, expected any) []patchOperation {
	return []patchOperation{{Op: "test", Path: path, Value: expected}, {Op: "remove", Path: path}}
}

// owned says whether an element of a metadata list is among the fields.
func owned(fields *fieldpath.Set, list string, matches func(fieldpath.PathElement) bool) bool {
	found := false
	prefix := fieldpath.MakePathOrDie("metadata", list)
	fields.Iterate(func(path fieldpath.Path) {
		if len(path) > len(prefix) && path[:len(prefix)].Equals(prefix) && matches(path[len(prefix)]) {
			found = true
		}
	})
	return found
}
