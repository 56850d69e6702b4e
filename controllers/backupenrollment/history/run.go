package history

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// startOf a backup; when it was made for one that Velero refused, which never starts; a time to come for one that has not
// started, which is later than all that have.
func startOf(object *unstructured.Unstructured) time.Time {
	if veleroobjects.PhaseOf(object) == string(velerov1.BackupPhaseFailedValidation) {
		return object.GetCreationTimestamp().Time
	}
	text, _, _ := unstructured.NestedString(object.Object, "status", "startTimestamp")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Unix(1<<40, 0)
	}
	return at
}

// RunOf says what a Backup tells; false for an object that is no Backup in Velero's sense.
func RunOf(object *unstructured.Unstructured, s Standard) (backupv1alpha1.BackupRun, bool) {
	var backup velerov1.Backup
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &backup)
	if err != nil || backup.Name == "" || len(backup.Name) > maxRunName {
		return backupv1alpha1.BackupRun{}, false
	}
	status := backup.Status
	run := backupv1alpha1.BackupRun{
		Name: backup.Name, Phase: truncate.Message(string(status.Phase), maxPhase), StartedAt: status.StartTimestamp, ExpiresAt: status.Expiration,
		Errors: max(0, int64(status.Errors)), Warnings: max(0, int64(status.Warnings)),
	}
	if status.Progress != nil {
		run.Items = max(0, int64(status.Progress.ItemsBackedUp))
	}
	if HasEnded(status.Phase) {
		s.Details.tellOf(&run)
		run.EndedAt = endOf(backup)
		run.Problem = truncate.Message(problemOf(backup, run, s), MaxProblem)
	}
	return run, true
}

// endOf a backup that ended. One that did not stand Velero's validation never began.
func endOf(backup velerov1.Backup) *metav1.Time {
	if at := cmp.Or(backup.Status.CompletionTimestamp, backup.Status.StartTimestamp); at != nil {
		return at
	}
	return &backup.CreationTimestamp
}

// HasEnded is whether a backup in this phase goes on to nothing but its deletion.
func HasEnded(phase velerov1.BackupPhase) bool {
	switch phase {
	case velerov1.BackupPhaseCompleted, velerov1.BackupPhasePartiallyFailed, velerov1.BackupPhaseFailed,
		velerov1.BackupPhaseFailedValidation, velerov1.BackupPhaseDeleting:
		return true
	}
	return false
}

// problemOf says why a backup that has ended is not a good one; empty if it is.
func problemOf(backup velerov1.Backup, run backupv1alpha1.BackupRun, s Standard) string {
	status := backup.Status
	switch {
	case status.Phase == velerov1.BackupPhaseDeleting:
		return "it is being deleted"
	case status.Phase == velerov1.BackupPhaseFailedValidation && len(status.ValidationErrors) > 0:
		return "Velero refused it: " + status.ValidationErrors[0]
	case status.Phase == velerov1.BackupPhaseFailed || status.Phase == velerov1.BackupPhaseFailedValidation:
		return cmp.Or(status.FailureReason, "Velero gives no reason; see velero backup logs "+backup.Name)
	case status.Phase == velerov1.BackupPhasePartiallyFailed && !s.AcceptPartiallyFailed:
		if len(run.Problems) > 0 && !strings.HasPrefix(run.Problems[0], WarningMark) {
			return fmt.Sprintf("%d errors, the first in %s", run.Errors, run.Problems[0])
		}
		return fmt.Sprintf("%d errors; see velero backup logs %s", run.Errors, backup.Name)
	case run.StartedAt == nil:
		return "Velero does not say when it started"
	case run.Items < s.MinItems:
		return fmt.Sprintf("it has %s, and spec.minItems asks for %d", plural.Of(run.Items, "object"), s.MinItems)
	case s.RequireVolumes && run.DetailsRead:
		return problemOfVolumes(run.Volumes)
	}
	return ""
}

// AgeFrom is when a backup started. One that Velero refused never did.
func AgeFrom(backup *unstructured.Unstructured) time.Time {
	if text, _, _ := unstructured.NestedString(backup.Object, "status", "startTimestamp"); text == "" {
		return backup.GetCreationTimestamp().Time
	}
	return startOf(backup)
}

// Begun is when a run began. One that Velero refused did not, and is taken for one that began as it was refused.
func Begun(run backupv1alpha1.BackupRun) time.Time {
	if at := cmp.Or(run.StartedAt, run.EndedAt); at != nil {
		return at.Time
	}
	return time.Time{}
}

// IsRunning is whether a backup has not ended.
func IsRunning(run backupv1alpha1.BackupRun) bool { return run.EndedAt == nil }

// Describe names a backup that has started, with its start and its size.
func Describe(run *backupv1alpha1.BackupRun) string {
	return fmt.Sprintf("%s of %s, %s", run.Name, run.StartedAt.UTC().Format(time.RFC3339), plural.Of(run.Items, "object"))
}
