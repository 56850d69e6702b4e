package backupenrollment

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// TestABackupThatChangesAllTheTimeIsToldSeldom has a customer write a Backup over and over, in a cluster where nothing else does.
func TestABackupThatChangesAllTheTimeIsToldSeldom(t *testing.T) {
	w := newEnv(t)
	w.enroll(time.Now().UTC().Add(12 * time.Hour))
	w.awaitStorage()
	w.must(w.cluster.KillVelero(t.Context()))
	backup := w.newBackup("forged", time.Now().Add(-time.Minute))
	w.must(w.workload.Create(t.Context(), backup))
	w.awaitItems(0)

	const changes = 60
	begun, stored := time.Now(), map[string]bool{}
	for items := 1; items <= changes; items++ {
		w.setItems(backup, int64(items))
		// What is written meanwhile is looked at often enough to see each version.
		for until := time.Now().Add(100 * time.Millisecond); time.Now().Before(until); {
			enrollment := &backupv1alpha1.BackupEnrollment{}
			w.must(w.management.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "nightly-prod"}, enrollment))
			stored[enrollment.ResourceVersion] = true
		}
	}
	// Beside these the first failure and the first success of some conditions.
	if most := throttle.MaxSteps + 4 + int(time.Since(begun)/throttle.StepEvery); len(stored) > most {
		t.Errorf("%d changes are %d writes in %s, want %d at most", changes, len(stored), time.Since(begun), most)
	}
	w.awaitItems(changes)
}

// newBackup is one that is said to have begun, and to be of the enrollment.
func (w *env) newBackup(name string, begun time.Time) *unstructured.Unstructured {
	w.Helper()
	schedule := w.velero(w.Context(), veleroobjects.ScheduleKind)[0]
	backup := &unstructured.Unstructured{Object: map[string]any{
		"spec":   map[string]any{"includedNamespaces": []any{"default"}},
		"status": map[string]any{"phase": "InProgress", "startTimestamp": begun.UTC().Format(time.RFC3339)},
	}}
	backup.SetGroupVersionKind(veleroobjects.BackupKind)
	backup.SetNamespace(schedule.GetNamespace())
	backup.SetName(name)
	backup.SetLabels(map[string]string{metav1alpha1.LabelBackup: schedule.GetName()})
	return backup
}

func (w *env) setItems(backup *unstructured.Unstructured, items int64) {
	w.Helper()
	before := backup.DeepCopy()
	w.must(unstructured.SetNestedField(backup.Object, items, "status", "progress", "itemsBackedUp"))
	w.must(w.workload.Patch(w.Context(), backup, client.MergeFrom(before)))
}

// awaitItems waits until the status tells how many objects the last backup has.
func (w *env) awaitItems(want int64) {
	w.Helper()
	expect.Eventually(w, fmt.Sprintf("the status tells of %d objects", want), func(ctx context.Context) error {
		if runs := w.status(ctx).Runs; len(runs) != 1 || runs[0].Items != want {
			return fmt.Errorf("the backups are %+v", runs)
		}
		return nil
	})
}
