package backupenrollment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

const (
	// maxRuns is how many backups a status tells of.
	maxRuns = 10
	// maxProblem is how long the problem of a backup may be, in bytes, and maxPhase its phase: the API has room for them
	// with the sign of what was cut.
	maxProblem = 500
	maxPhase   = 60
	// maxRunName is how long the name of an object may be.
	maxRunName = 253
)

// standard is what makes a backup a good one.
type standard struct {
	acceptPartiallyFailed bool
	minItems              int64
	requireVolumes        bool
	// details of backups, as far as they are known.
	details allDetails
	// recorded is the last good backup on record. One from before requireVolumes stays good until its details are read.
	recorded backupID
}

func standardOf(o *observation, known allDetails) standard {
	spec := o.Target.Spec
	s := standard{acceptPartiallyFailed: spec.AcceptPartiallyFailed, requireVolumes: spec.RequireVolumes, details: known}
	if spec.MinItems != nil {
		s.minItems = int64(*spec.MinItems)
	}
	if last := o.Status.LastSuccessful; last != nil && last.StartedAt != nil {
		s.recorded = idOfRun(*last)
	}
	return s
}

// isUnread is whether a backup that has ended is neither good nor bad, because its details are not known yet.
func (s standard) isUnread(run backupv1alpha1.BackupRun) bool {
	return s.requireVolumes && run.EndedAt != nil && run.Problem == "" && !run.DetailsRead && idOfRun(run) != s.recorded
}

func (s standard) isGood(run backupv1alpha1.BackupRun) bool {
	return run.EndedAt != nil && run.Problem == "" && !s.isUnread(run)
}

// history is what the Backups of an enrollment tell.
type history struct {
	// runs are the last ten, the latest first.
	runs []backupv1alpha1.BackupRun
	// good is the latest good one, ended the latest that has ended; nil if there is none.
	// unread is the latest of which the details have to be known first; nil if there is none. It is neither.
	good, ended, unread *backupv1alpha1.BackupRun
	// unseen says why later ones are not seen; empty if they are.
	unseen string
}

// historyOf reads Backups, the latest first, and no more of them than it tells of. One that is no Backup in Velero's sense is
// passed over: whoever has rights in the cluster may write one.
func historyOf(backups []*unstructured.Unstructured, s standard) history {
	var h history
	for _, object := range latestFirst(backups) {
		if len(h.runs) == maxRuns && h.good != nil {
			break
		}
		run, ok := runOf(object, s)
		if !ok {
			continue
		}
		if len(h.runs) < maxRuns {
			h.runs = append(h.runs, run)
		}
		if run.EndedAt == nil {
			continue
		}
		if s.isUnread(run) {
			h.unread = cmp.Or(h.unread, &run)
			continue
		}
		if h.ended == nil {
			h.ended = &run
		}
		if run.Problem == "" && h.good == nil {
			h.good = &run
		}
	}
	return h
}

// latestFirst sorts by the start alone, which costs less than to read a whole Backup.
func latestFirst(backups []*unstructured.Unstructured) []*unstructured.Unstructured {
	starts := make(map[*unstructured.Unstructured]time.Time, len(backups))
	for _, object := range backups {
		starts[object] = startOf(object)
	}
	return slices.SortedFunc(slices.Values(backups), func(a, b *unstructured.Unstructured) int {
		return cmp.Or(starts[b].Compare(starts[a]), cmp.Compare(a.GetName(), b.GetName()))
	})
}

// startOf a backup; when it was made for one that Velero refused, which never starts; a time to come for one that has not
// started, which is later than all that have.
func startOf(object *unstructured.Unstructured) time.Time {
	if phaseOf(object) == string(velerov1.BackupPhaseFailedValidation) {
		return object.GetCreationTimestamp().Time
	}
	text, _, _ := unstructured.NestedString(object.Object, "status", "startTimestamp")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Unix(1<<40, 0)
	}
	return at
}

func runOf(object *unstructured.Unstructured, s standard) (backupv1alpha1.BackupRun, bool) {
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
	if hasEnded(status.Phase) {
		s.details.tellOf(&run)
		run.EndedAt = endOf(backup)
		run.Problem = truncate.Message(problemOf(backup, run, s), maxProblem)
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

func hasEnded(phase velerov1.BackupPhase) bool {
	switch phase {
	case velerov1.BackupPhaseCompleted, velerov1.BackupPhasePartiallyFailed, velerov1.BackupPhaseFailed,
		velerov1.BackupPhaseFailedValidation, velerov1.BackupPhaseDeleting:
		return true
	}
	return false
}

// problemOf says why a backup that has ended is not a good one; empty if it is.
func problemOf(backup velerov1.Backup, run backupv1alpha1.BackupRun, s standard) string {
	status := backup.Status
	switch {
	case status.Phase == velerov1.BackupPhaseDeleting:
		return "it is being deleted"
	case status.Phase == velerov1.BackupPhaseFailedValidation && len(status.ValidationErrors) > 0:
		return "Velero refused it: " + status.ValidationErrors[0]
	case status.Phase == velerov1.BackupPhaseFailed || status.Phase == velerov1.BackupPhaseFailedValidation:
		return cmp.Or(status.FailureReason, "Velero gives no reason; see velero backup logs "+backup.Name)
	case status.Phase == velerov1.BackupPhasePartiallyFailed && !s.acceptPartiallyFailed:
		if len(run.Problems) > 0 && !strings.HasPrefix(run.Problems[0], warningMark) {
			return fmt.Sprintf("%d errors, the first in %s", run.Errors, run.Problems[0])
		}
		return fmt.Sprintf("%d errors; see velero backup logs %s", run.Errors, backup.Name)
	case run.StartedAt == nil:
		return "Velero does not say when it started"
	case run.Items < s.minItems:
		return fmt.Sprintf("it has %d objects, and spec.minItems asks for %d", run.Items, s.minItems)
	case s.requireVolumes && run.DetailsRead:
		return problemOfVolumes(run.Volumes)
	}
	return ""
}
