package retention

import (
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// Plan is which backups stay, and which are deleted. The zero value knows nothing, and leaves that to Velero.
type Plan struct {
	Deletions

	// TTL of backups; zero while nothing is known of it.
	TTL time.Duration
	// Unknown is why nothing is deleted although it should be; empty if nothing is in the way.
	Unknown string
	// Kept are the names of the last good backups, which stay beyond it.
	Kept map[string]bool
	// Keeping are these backups.
	Keeping []*unstructured.Unstructured
	// Extend are those of them that Velero would delete soon.
	Extend []Extension
	// Extended: these were extended.
	Extended bool
}

// Plan decides which backups stay, and which are to be deleted now. The last good ones stay, and those that have not
// ended, that are younger than the TTL, or that a drill restores. Of those that may be good, and are not read, as many stay as
// would be kept if they all were: the good ones after them stay nonetheless.
//
// It may be given some of the backups that there are: what is not among the last good ones of some is not among those of all.
func (s Stored) Plan() Plan {
	r := Plan{TTL: s.Own.TTL.Duration, Kept: map[string]bool{}}
	keep, possible := int(max(s.Own.KeepLast, 1)), 0
	var expired []*unstructured.Unstructured
	var next time.Time
	for _, backup := range history.LatestFirst(s.Backups) {
		if !isDeletable(backup, s.Own.Name) {
			continue
		}
		good, unread := s.Standard.Assess(backup)
		if good && len(r.Kept) < keep {
			r.Kept[backup.GetName()] = true
			r.Keeping = append(r.Keeping, backup)
			possible++
			continue
		}
		if unread && possible < keep {
			possible++ // It stays, and takes the place of no good one.
			continue
		}
		at := history.AgeFrom(backup).Add(r.TTL)
		switch {
		case s.Now.Before(at):
			next = times.Earliest(next, at)
		case !slices.Contains(s.Restored, backup.GetName()):
			expired = append(expired, backup)
		}
	}
	slices.Reverse(expired) // The oldest first.
	r.Deletions = s.planDeletions(expired)
	r.WakeAt = times.Earliest(r.WakeAt, next)
	return r
}

// isDeletable is whether a backup has ended, and is the enrollment's, in the storage of the enrollment.
func isDeletable(backup *unstructured.Unstructured, own string) bool {
	labels := backup.GetLabels()
	return labels[metav1alpha1.LabelBackup] == own && labels[velerov1.StorageLocationLabel] == own && history.HasEnded(velerov1.BackupPhase(veleroobjects.PhaseOf(backup)))
}

// Tell says until when the backups of a history stay.
func (r Plan) Tell(h history.History) history.History {
	if r.TTL == 0 {
		return h
	}
	for i := range h.Runs {
		r.tellRun(&h.Runs[i])
	}
	if h.Good != nil {
		r.tellRun(h.Good)
	}
	return h
}

func (r Plan) tellRun(run *backupv1alpha1.BackupRun) {
	if run.Kept = r.Kept[run.Name]; run.Kept || run.StartedAt == nil {
		return
	}
	if at := metav1.NewTime(run.StartedAt.Add(r.TTL)); run.ExpiresAt == nil || at.Before(run.ExpiresAt) {
		run.ExpiresAt = &at
	}
}

// Stored is what is known of the backups of an enrollment.
type Stored struct {
	// Own are the objects of the enrollment in its cluster.
	Own *backupv1alpha1.VeleroObjects
	// Backups that the cluster shows.
	Backups []*unstructured.Unstructured
	// Requests to delete backups that Daytwo made.
	Requests []*unstructured.Unstructured
	// Restored are the names of backups that drills work with.
	Restored []string
	// Standard of a good backup.
	Standard history.Standard
	Now      time.Time
	// RetryBy is until when another request for what failed may be due to be made now.
	RetryBy time.Time
}
