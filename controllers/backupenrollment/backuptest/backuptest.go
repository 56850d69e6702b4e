package backuptest

import (
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
)

// Noon is a Monday, and now for the tests.
var Noon = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

// BackupAt is a Backup as Velero writes it, which started so many hours before noon.
func BackupAt(hoursAgo int, phase string, items int64, more map[string]any) *unstructured.Unstructured {
	start := Noon.Add(-time.Duration(hoursAgo) * time.Hour)
	status := map[string]any{
		"phase": phase, "startTimestamp": start.Format(time.RFC3339), "completionTimestamp": start.Add(time.Minute).Format(time.RFC3339),
		"progress": map[string]any{"itemsBackedUp": items, "totalItems": items},
	}
	for key, value := range more {
		status[key] = value
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": fmt.Sprintf("nightly-%02d", hoursAgo)}, "status": status,
	}}
}

// StoredAt is a Backup of the enrollment nightly-1, which started so many hours before noon.
func StoredAt(hoursAgo int, phase string) *unstructured.Unstructured {
	backup := BackupAt(hoursAgo, phase, 3, map[string]any{"expiration": Noon.Add(1000 * time.Hour).Format(time.RFC3339)})
	backup.SetUID(types.UID("uid-of-" + backup.GetName()))
	backup.SetLabels(map[string]string{metav1alpha1.LabelBackup: "nightly-1", velerov1.StorageLocationLabel: "nightly-1"})
	return backup
}

// IDAt is the ID of the backup that started so many hours before noon.
func IDAt(hoursAgo int) history.ID {
	run, _ := history.RunOf(BackupAt(hoursAgo, "Completed", 3, nil), history.Standard{})
	return history.IDOf(run)
}

// WithVolumes are details of a backup that has the data of some volumes of all.
func WithVolumes(covered, total int32) history.Details {
	volumes := &backupv1alpha1.BackupVolumes{Total: &total, Covered: &covered}
	if covered < total {
		volumes.Uncovered = []backupv1alpha1.UncoveredVolume{{Name: "shop/data", Reason: "no driver"}}
	}
	return history.Details{Read: true, Bytes: ptr.To[int64](1000), Volumes: volumes}
}

// FailedAt is a Backup that failed, and started so many hours before noon.
func FailedAt(hoursAgo int) *unstructured.Unstructured {
	return BackupAt(hoursAgo, "Failed", 0, map[string]any{"failureReason": "the disk is full"})
}

// Kept is what the enrollment nightly-1 has in its cluster, with a retention.
func Kept(ttl time.Duration, keepLast int32) *backupv1alpha1.VeleroObjects {
	return &backupv1alpha1.VeleroObjects{
		Name: "nightly-1", Namespace: "velero", Cron: "30 2 * * *", TTL: &metav1.Duration{Duration: ttl}, KeepLast: keepLast,
	}
}

// WindowAt opens by a cron expression, in UTC.
func WindowAt(expression string, duration time.Duration) metav1alpha1.RecurringWindow {
	return metav1alpha1.RecurringWindow{Schedule: expression, Duration: metav1.Duration{Duration: duration}}
}

// NamespaceNamed is a Namespace.
func NamespaceNamed(name string, labels map[string]string) *unstructured.Unstructured {
	namespace := &unstructured.Unstructured{Object: map[string]any{}}
	namespace.SetName(name)
	namespace.SetLabels(labels)
	return namespace
}

// ScheduleOf a policy, with what its template includes and excludes.
func ScheduleOf(name string, included, excluded []any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"template": map[string]any{"includedNamespaces": included, "excludedNamespaces": excluded}},
	}}
}

// Drilled is a DRDrill that ended so many hours before noon.
func Drilled(name string, verdict backupv1alpha1.DrillVerdict, hoursAgo int) backupv1alpha1.DRDrill {
	at := metav1.NewTime(Noon.Add(-time.Duration(hoursAgo) * time.Hour))
	drill := backupv1alpha1.DRDrill{ObjectMeta: metav1.ObjectMeta{Name: name}}
	drill.Status.Verdict, drill.Status.EndedAt, drill.Status.Message = verdict, &at, string(verdict)+": as found"
	drill.Status.Source, drill.Status.RecoveryTime = &backupv1alpha1.DrillSource{Backup: "nightly-1"}, &metav1.Duration{Duration: time.Hour}
	return drill
}
