package topology

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/ownership"
)

// Editor tells people who changed a Cluster's topology last, beside self, by its managedFields: the program, and
// when. Empty if that cannot be told: a field that somebody removed has no owner any more.
func Editor(cluster metav1.Object, self string) string {
	var last *metav1.ManagedFieldsEntry
	entries := cluster.GetManagedFields()
	for i := range entries {
		entry := &entries[i]
		if entry.Manager == self || entry.Subresource != "" || entry.Time == nil {
			continue
		}
		fields, err := ownership.Fields(entry)
		if err != nil || !ownership.OwnsPointer(fields, "/spec/topology") {
			continue
		}
		if last == nil || last.Time.Before(entry.Time) {
			last = entry
		}
	}
	if last == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s, %s)", last.Manager, last.Operation, last.Time.UTC().Format(time.RFC3339))
}
