package addonrelease

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

// culprit is who changed an object, what of it, how and when.
type culprit struct {
	manager   string
	operation string
	fields    []string
	at        *metav1.Time
}

// blame reads from managedFields who it was: the latest of the foreign entries, or else a person who
// scaled. Nothing tells who removed a field that was ours alone, or the whole object.
func blame(seen *fleet.Seen, subject managedfields.Subject, rules managedfields.Rules) culprit {
	if seen == nil || seen.Object == nil {
		return culprit{}
	}
	var last *managedfields.Change
	suspects := rules.Foreign(seen.Object, subject)
	for i := range suspects {
		if last == nil || last.Time.Before(suspects[i].Time) {
			last = &suspects[i]
		}
	}
	if last != nil {
		return culpritOf(&last.ManagedFieldsEntry, last.Fields)
	}
	scaler, excused := rules.Scaler(seen.Object.ManagedFields)
	if scaler == nil || excused {
		return culprit{}
	}
	fields, err := managedfields.Fields(scaler)
	if err != nil {
		fields = nil
	}
	return culpritOf(scaler, fields)
}

// culpritOf names the author of an entry, and what of it is drift; no fields where the entry cannot be read.
func culpritOf(entry *metav1.ManagedFieldsEntry, fields *fieldpath.Set) culprit {
	found := culprit{manager: entry.Manager, operation: string(entry.Operation), at: entry.Time}
	if fields != nil {
		found.fields = managedfields.Names(fields)
	}
	return found
}

// lostFields are what our entry lacked before the correction, and has again.
func lostFields(w written, rules managedfields.Rules) []string {
	if w.seen.Object == nil {
		return nil
	}
	before, err := rules.OwnFields(w.seen.Object.ManagedFields)
	if err != nil {
		return nil
	}
	after, err := rules.OwnFields(w.result.ManagedFields)
	if err != nil {
		return nil
	}
	return managedfields.Names(after.Difference(before))
}
