package backupenrollment

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

// retention is which backups stay, and which are deleted. The zero value knows nothing, and leaves that to Velero.
type retention struct {
	deletions

	// ttl of backups; zero while nothing is known of it.
	ttl time.Duration
	// unknown is why nothing is deleted although it should be; empty if nothing is in the way.
	unknown string
	// kept are the names of the last good backups, which stay beyond it.
	kept map[string]bool
	// keeping are these backups.
	keeping []*unstructured.Unstructured
	// extend are those of them that Velero would delete soon.
	extend []extension
	// extended: these were extended.
	extended bool
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
	for _, backup := range history.LatestFirst(s.backups) {
		if !isDeletable(backup, s.own.Name) {
			continue
		}
		good, unread := s.standard.Assess(backup)
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
		at := history.AgeFrom(backup).Add(r.ttl)
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
	return labels[metav1alpha1.LabelBackup] == own && labels[velerov1.StorageLocationLabel] == own && history.HasEnded(velerov1.BackupPhase(veleroobjects.PhaseOf(backup)))
}

// tell says until when the backups of a history stay.
func (r retention) tell(h history.History) history.History {
	if r.ttl == 0 {
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

func (r retention) tellRun(run *backupv1alpha1.BackupRun) {
	if run.Kept = r.kept[run.Name]; run.Kept || run.StartedAt == nil {
		return
	}
	if at := metav1.NewTime(run.StartedAt.Add(r.ttl)); run.ExpiresAt == nil || at.Before(run.ExpiresAt) {
		run.ExpiresAt = &at
	}
}

// stored is what is known of the backups of an enrollment.
type stored struct {
	// own are the objects of the enrollment in its cluster.
	own *backupv1alpha1.VeleroObjects
	// backups that the cluster shows.
	backups []*unstructured.Unstructured
	// requests to delete backups that Daytwo made.
	requests []*unstructured.Unstructured
	// restored are the names of backups that drills work with.
	restored []string
	// standard of a good backup.
	standard history.Standard
	now      time.Time
	// retryBy is until when another request for what failed may be due to be made now.
	retryBy time.Time
}
