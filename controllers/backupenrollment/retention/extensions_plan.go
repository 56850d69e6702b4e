package retention

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
)

const (
	// maxExtended is how many backups are extended at a time, extendEvery how often, since somebody in the cluster may take it
	// back at once, and maxExtension by how much at most.
	maxExtended  = 5
	extendEvery  = time.Hour
	maxExtension = 365 * 24 * time.Hour
	// minExtension leaves time for the next look.
	minExtension = 24 * time.Hour
)

// Extension is a good backup that Velero would delete soon, and that is to stay: the last ones, when no others follow.
type Extension struct {
	// Backup is the name of the backup, and UID its UID.
	Backup string
	UID    types.UID
	// Until when Velero is to keep it.
	Until time.Time
}

// extensionOf a backup that is kept: in the last quarter of its time it gets as much time again, from a day to a year. Also when
// that quarter begins; both are zero for a backup that Velero never deletes.
func extensionOf(backup *unstructured.Unstructured, now time.Time) (e Extension, dueAt time.Time) {
	text, _, _ := unstructured.NestedString(backup.Object, "status", "expiration")
	expires, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return Extension{}, time.Time{}
	}
	life := max(minExtension, min(expires.Sub(history.AgeFrom(backup)), maxExtension))
	return Extension{Backup: backup.GetName(), UID: backup.GetUID(), Until: now.Add(life).Truncate(time.Second)}, expires.Add(-life / 4)
}

// PlanExtensions decides which of the backups that are kept are extended now, and when to look again; zero for never. It knows when some
// were extended last; nil for never.
func PlanExtensions(kept []*unstructured.Unstructured, extendedAt *metav1.Time, now time.Time) (due []Extension, wakeAt time.Time) {
	held := time.Time{}
	if extendedAt != nil {
		held = extendedAt.Add(extendEvery)
	}
	for _, backup := range kept {
		e, at := extensionOf(backup, now)
		if at.IsZero() {
			continue
		}
		if at.Before(held) {
			at = held
		}
		switch {
		case now.Before(at):
			if wakeAt.IsZero() || at.Before(wakeAt) {
				wakeAt = at
			}
		case len(due) < maxExtended:
			due = append(due, e)
		}
	}
	return due, wakeAt
}
