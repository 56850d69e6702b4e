package backupenrollment

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
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/retention"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// purge is the deletion of all backups of an enrollment that ends. What Velero needs for that stays until it is complete.
type purge struct {
	retention.Deletions

	// schedule is the one that Daytwo made and that makes backups still, which is to go first; nil if it is gone.
	schedule *apply.Entry
	// underWay is how many backups cannot be deleted yet: they have not ended, or a drill restores them.
	underWay int
	// waits says what the rest waits for; empty for nothing.
	waits string
	// complete: nothing is left, as far as the watches show.
	complete bool
	// begun: this reconcile works on it. Where the enrollment goes without removing anything, it does not.
	begun bool
	// completedAt is when it was found complete; zero if it was not.
	completedAt time.Time
}

// isPurged is whether the backups go with an enrollment that is deleted. A final backup that a TenantCluster asks for is
// there to outlive it.
func isPurged(o *observation) bool {
	if o.Target.Spec.BackupDeletionPolicy != backupv1alpha1.DeleteBackups || o.Status.Velero == nil || target.IsOrphaned(o.Target) {
		return false
	}
	if o.Tenant != nil && !o.Tenant.DeletionTimestamp.IsZero() && o.Tenant.Spec.Deletion.FinalBackup {
		return false
	}
	return o.Status.Deletions == nil || o.Status.Deletions.CompletedAt == nil
}

// Plan implements target.StagedKind: the backups of an enrollment that is deleted go when everything else would.
func (r *Reconciler) Plan(o *observation) target.StagedPlan {
	return target.StagedPlan{Due: o.Extra.purge != nil}
}

// purgeOf decides what to do about the backups of an enrollment that is deleted.
func purgeOf(o *observation) *purge {
	velero, own := o.Extra.velero, o.Status.Velero
	if velero.missing {
		return &purge{waits: "the cluster does not serve the kinds of Velero any more: install it again", Deletions: retention.Deletions{WakeAt: o.Now.Add(apply.RetryStalled)}}
	}
	if velero.unknown != "" {
		return &purge{waits: velero.unknown}
	}
	if velero.pending {
		return &purge{waits: "the backups in the cluster are being listed"}
	}
	p := &purge{}
	p.Deletions, p.underWay = storedOf(o).PlanPurge()
	p.schedule = ownSchedule(velero.schedule, o.Inventory)
	if velero.location == nil {
		p.Due, p.waits = nil, fmt.Sprintf("BackupStorageLocation %s is gone, without which Velero deletes nothing", own.Name)
		return p
	}
	storage := storageFinding(velero, staleAfter(frequencyOf(own)), o.Now)
	p.WakeAt = times.Earliest(p.WakeAt, storage.due)
	switch {
	case storage.status != metav1.ConditionTrue:
		p.Due, p.waits = nil, storage.message
	case !syncedAt(velero.location).After(o.Target.DeletionTimestamp.Time):
		p.waits = "Velero has not looked for more of them in the bucket yet"
	}
	p.complete = p.waits == "" && p.Remaining+p.underWay == 0 && p.schedule == nil && !velero.backups.Incomplete
	return p
}

// ownSchedule is nil for a Schedule that somebody else made in the place of Daytwo's, which stays.
func ownSchedule(shown *unstructured.Unstructured, inventory apply.Inventory) *apply.Entry {
	if shown == nil {
		return nil
	}
	entry, listed := inventory[objects.RefOf(shown).Key()]
	if !listed || entry.UID != shown.GetUID() {
		return nil
	}
	return &entry
}

// syncedAt is when Velero last brought what it found in the bucket into the cluster; zero for never. Backups that it has not
// brought there are not seen.
func syncedAt(location *unstructured.Unstructured) time.Time {
	var read velerov1.BackupStorageLocation
	if runtime.DefaultUnstructuredConverter.FromUnstructured(location.Object, &read) != nil || read.Status.LastSyncedTime == nil {
		return time.Time{}
	}
	return read.Status.LastSyncedTime.Time
}

// outcome of a reconcile that deletes backups, or waits until it may.
func (p *purge) outcome() outcome {
	result := outcome{Due: []time.Time{p.WakeAt}, Tell: func(status *backupv1alpha1.BackupEnrollmentStatus) {
		status.Deletions = p.Told()
		if !p.completedAt.IsZero() {
			at := metav1.NewTime(p.completedAt).Rfc3339Copy()
			status.Deletions = &backupv1alpha1.BackupDeletions{CompletedAt: &at}
		}
	}}
	if p.begun && p.completedAt.IsZero() {
		result.Trouble = &target.Verdict{Reason: metav1alpha1.ReasonWaiting, Message: p.message()}
		if p.Failed > 0 {
			result.Trouble.Reason = backupv1alpha1.ReasonDeletionFailed
		}
	}
	return result
}

// message says what the removal of everything else waits for.
func (p *purge) message() string {
	var parts []string
	if p.Remaining > 0 {
		parts = append(parts, fmt.Sprintf("%d are there still", p.Remaining))
	}
	if p.underWay > 0 {
		parts = append(parts, fmt.Sprintf("%d are under way, or restored by a drill", p.underWay))
	}
	for _, part := range []string{p.Problem, p.waits} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return fmt.Sprintf("all backups of the cluster are deleted first: %s; to keep them, set spec.retention.deletionPolicy: %s in the BackupPolicy",
		cmp.Or(strings.Join(parts, "; "), "the cluster is looked at"), backupv1alpha1.KeepBackups)
}
