package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

// Actor is who changed an object, what of it, how and when.
type Actor struct {
	Manager   string
	Operation string
	Fields    []string
	At        *metav1.Time
}

// Attribute reads from managedFields who it was: the latest of the foreign entries, or else a person who
// scaled. Nothing tells who removed a field that was ours alone, or the whole object.
func Attribute(seen *tracker.Seen, subject managedfields.Subject, rules managedfields.Rules) Actor {
	if seen == nil || seen.Object == nil {
		return Actor{}
	}
	var last *managedfields.Change
	suspects := rules.Foreign(seen.Object, subject)
	for i := range suspects {
		if last == nil || last.Time.Before(suspects[i].Time) {
			last = &suspects[i]
		}
	}
	if last != nil {
		return actorOf(&last.ManagedFieldsEntry, last.Fields)
	}
	scaler, excused := rules.Scaler(seen.Object.ManagedFields)
	if scaler == nil || excused {
		return Actor{}
	}
	fields, err := managedfields.Fields(scaler)
	if err != nil {
		fields = nil
	}
	return actorOf(scaler, fields)
}

// actorOf names the author of an entry, and what of it is drift; no fields where the entry cannot be read.
func actorOf(entry *metav1.ManagedFieldsEntry, fields *fieldpath.Set) Actor {
	found := Actor{Manager: entry.Manager, Operation: string(entry.Operation), At: entry.Time}
	if fields != nil {
		found.Fields = managedfields.Names(fields)
	}
	return found
}
