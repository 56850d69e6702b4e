package backupenrollment

import (
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// retention is which backups stay, and which are deleted. The zero value knows nothing, and leaves that to Velero.
type retention struct {
	deletions

	// ttl of backups; zero while nothing is known of it.
	ttl time.Duration
	// unknown is why nothing is deleted although it should be; empty if nothing is in the way.
	unknown string
	// kept are the names of the last good backups, which stay beyond it.
	kept map[string]bool
	// keeping are these backups, and extend those of them that Velero would delete soon. They were extended if extended is true.
	keeping  []*unstructured.Unstructured
	extend   []extension
	extended bool
}

// retentionOf decides about the backups that the cluster shows. Nothing is deleted while work is held off, or while Velero
// cannot use the storage and would fail.
func retentionOf(o *observation) retention {
	own, velero := o.Status.Velero, o.Extra.velero
	if own == nil || own.TTL == nil || velero == nil || velero.missing || velero.backups.Unknown != "" || velero.backups.Pending() {
		return retention{}
	}
	r := storedOf(o).planRetention()
	var again time.Time
	r.extend, again = planExtensions(r.keeping, &o.Status, o.Now)
	r.wakeAt = times.Earliest(r.wakeAt, again)
	if velero.deletions.Unknown != "" {
		r.unknown = "DeleteBackupRequests cannot be watched: " + velero.deletions.Unknown
	}
	if o.Suspension.Active {
		r.extend = nil
	}
	if o.Suspension.Active || velero.deletions.Pending() || r.unknown != "" || !isAvailable(velero) {
		r.due = nil
	}
	return r
}

// planRetention decides which backups stay, and which are to be deleted now. The last good ones stay, and those that have not
// ended, that are younger than the TTL, or that a drill restores. Of those that may be good, and are not read, as many stay as
// would be kept if they all were: the good ones after them stay nonetheless.
//
// It may be given some of the backups that there are: what is not among the last good ones of some is not among those of all.
func (s stored) planRetention() retention {
	r := retention{ttl: s.own.TTL.Duration, kept: map[string]bool{}}
	keep, possible := int(max(s.own.KeepLast, 1)), 0
	var expired []*unstructured.Unstructured
	var next time.Time
	for _, backup := range latestFirst(s.backups) {
		if !isDeletable(backup, s.own.Name) {
			continue
		}
		good, unread := s.standard.of(backup)
		if good && len(r.kept) < keep {
			r.kept[backup.GetName()] = true
			r.keeping = append(r.keeping, backup)
			possible++
			continue
		}
		if unread && possible < keep {
			possible++ // It stays, and takes the place of no good one.
			continue
		}
		at := ageFrom(backup).Add(r.ttl)
		switch {
		case s.now.Before(at):
			next = times.Earliest(next, at)
		case !slices.Contains(s.restored, backup.GetName()):
			expired = append(expired, backup)
		}
	}
	slices.Reverse(expired) // The oldest first.
	r.deletions = s.planDeletions(expired)
	r.wakeAt = times.Earliest(r.wakeAt, next)
	return r
}

// isDeletable is whether a backup has ended, and is the enrollment's, in the storage of the enrollment.
func isDeletable(backup *unstructured.Unstructured, own string) bool {
	labels := backup.GetLabels()
	return labels[metav1alpha1.LabelBackup] == own && labels[velerov1.StorageLocationLabel] == own && hasEnded(velerov1.BackupPhase(phaseOf(backup)))
}

// of a backup says whether it is a good one, or may turn out to be one once its details are read.
func (s standard) of(backup *unstructured.Unstructured) (good, unread bool) {
	run, ok := runOf(backup, s)
	return ok && s.isGood(run), ok && s.isUnread(run)
}

// ageFrom is when a backup started. One that Velero refused never did.
func ageFrom(backup *unstructured.Unstructured) time.Time {
	if text, _, _ := unstructured.NestedString(backup.Object, "status", "startTimestamp"); text == "" {
		return backup.GetCreationTimestamp().Time
	}
	return startOf(backup)
}

// tell says until when the backups of a history stay.
func (r retention) tell(h history) history {
	if r.ttl == 0 {
		return h
	}
	for i := range h.runs {
		r.tellRun(&h.runs[i])
	}
	if h.good != nil {
		r.tellRun(h.good)
	}
	return h
}

func (r retention) tellRun(run *backupv1alpha1.BackupRun) {
	if run.Kept = r.kept[run.Name]; run.Kept || run.StartedAt == nil {
		return
	}
	if at := metav1.NewTime(run.StartedAt.Add(r.ttl)); run.ExpiresAt == nil || at.Before(run.ExpiresAt) {
		run.ExpiresAt = &at
	}
}

// told is what the status tells of deletions; nil for nothing.
func (d deletions) told() *backupv1alpha1.BackupDeletions {
	if d.remaining == 0 {
		return nil
	}
	return &backupv1alpha1.BackupDeletions{Remaining: int32(d.remaining), Failed: int32(d.failed), Message: d.problem}
}

// finding is whether what is to be deleted can be.
func (r retention) finding() finding {
	f := finding{kind: backupv1alpha1.ConditionBackupsExpire, due: r.wakeAt}
	switch {
	case r.ttl == 0:
		return finding{}
	case r.unknown != "":
		f.status, f.reason, f.message = metav1.ConditionUnknown, metav1alpha1.ReasonKindUnavailable, r.unknown
	case r.failed > 0:
		f.status, f.reason, f.stalled = metav1.ConditionFalse, backupv1alpha1.ReasonDeletionFailed, true
		f.message = fmt.Sprintf("%s; %d of %d backups whose time is over could not be deleted; Velero is asked again, at once with the annotation %s",
			r.problem, r.failed, r.remaining, metav1alpha1.AnnotationRequestedAt)
	case r.remaining > 0:
		f.status, f.reason, f.message = metav1.ConditionTrue, metav1alpha1.ReasonProgressing, fmt.Sprintf("%d backups whose time is over are being deleted", r.remaining)
	default:
		f.status, f.reason, f.message = metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, "no backup is there whose time is over"
	}
	return f
}
