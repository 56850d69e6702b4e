package topology

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

// Editor tells people who changed a Cluster's topology since self wrote it: the program, and when, by the Cluster's
// managedFields. Empty if that cannot be told: a field that somebody removed has no owner any more.
func Editor(cluster metav1.Object, self string) string {
	var ours, last *metav1.ManagedFieldsEntry
	entries := cluster.GetManagedFields()
	for i := range entries {
		entry := &entries[i]
		switch {
		case entry.Subresource != "" || entry.Time == nil:
		case entry.Manager == self:
			ours = later(ours, entry)
		case ownsTopology(entry):
			last = later(last, entry)
		}
	}
	// What is older is what they had set before, to the same as we.
	if last == nil || ours != nil && last.Time.Before(ours.Time) {
		return ""
	}
	return fmt.Sprintf("%s (%s, %s)", last.Manager, last.Operation, last.Time.UTC().Format(time.RFC3339))
}

func ownsTopology(entry *metav1.ManagedFieldsEntry) bool {
	fields, err := managedfields.Fields(entry)
	return err == nil && managedfields.OwnsPointer(fields, "/spec/topology")
}

func later(a, b *metav1.ManagedFieldsEntry) *metav1.ManagedFieldsEntry {
	if a == nil || a.Time.Before(b.Time) {
		return b
	}
	return a
}
