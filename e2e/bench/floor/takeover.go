package floor

import (
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// takeover returns a JSON patch that moves to our entry what the one other entry owns. It fails at
// the API server if either has changed since.
func takeover(entries []metav1.ManagedFieldsEntry) ([]byte, error) {
	ours, theirs := -1, -1
	for i := range entries {
		switch {
		case entries[i].Manager == Manager && entries[i].Operation == metav1.ManagedFieldsOperationApply:
			ours = i
		default:
			theirs = i
		}
	}
	if ours < 0 || theirs < 0 {
		return nil, errors.New("there is nothing to take over")
	}
	merged := entries[ours]
	var err error
	if merged.FieldsV1, err = union(entries[ours].FieldsV1, entries[theirs].FieldsV1); err != nil {
		return nil, err
	}
	path := func(index int) string { return fmt.Sprintf("/metadata/managedFields/%d", index) }
	return json.Marshal([]operation{
		{Op: "test", Path: path(ours), Value: entries[ours]},
		{Op: "test", Path: path(theirs), Value: entries[theirs]},
		{Op: "replace", Path: path(ours), Value: merged},
		{Op: "remove", Path: path(theirs)},
	})
}

func union(a, b *metav1.FieldsV1) (*metav1.FieldsV1, error) {
	all := fieldpath.NewSet()
	for _, fields := range []*metav1.FieldsV1{a, b} {
		set := fieldpath.NewSet()
		if err := set.FromJSON(fields.GetRawReader()); err != nil {
			return nil, fmt.Errorf("read managed fields: %w", err)
		}
		all = all.Union(set)
	}
	raw, err := all.ToJSON()
	return metav1.NewFieldsV1(string(raw)), err
}
