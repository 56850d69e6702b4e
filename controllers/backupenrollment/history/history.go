package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
)

const (
	// MaxRuns is how many backups a status tells of.
	MaxRuns = 10
	// MaxProblem is how long the problem of a backup may be, in bytes: the API has room for it with the sign of what was cut.
	MaxProblem = 500
	// maxPhase is how long its phase may be, in bytes, likewise.
	maxPhase = 60
	// maxRunName is how long the name of an object may be.
	maxRunName = 253
)

// History is what the Backups of an enrollment tell.
type History struct {
	// Runs are the last ten, the latest first.
	Runs []backupv1alpha1.BackupRun
	// Good is the latest good one; nil if there is none.
	Good *backupv1alpha1.BackupRun
	// Ended is the latest that has ended; nil if there is none.
	Ended *backupv1alpha1.BackupRun
	// Unread is the latest of which the details have to be known first; nil if there is none. It is neither good nor bad.
	Unread *backupv1alpha1.BackupRun
	// Unseen says why later ones are not seen; empty if they are.
	Unseen string
}

// Of reads Backups, the latest first, and no more of them than it tells of. One that is no Backup in Velero's sense is
// passed over: whoever has rights in the cluster may write one.
func Of(backups []*unstructured.Unstructured, s Standard) History {
	var h History
	for _, object := range LatestFirst(backups) {
		if len(h.Runs) == MaxRuns && h.Good != nil {
			break
		}
		run, ok := RunOf(object, s)
		if !ok {
			continue
		}
		if len(h.Runs) < MaxRuns {
			h.Runs = append(h.Runs, run)
		}
		if run.EndedAt == nil {
			continue
		}
		if s.IsUnread(run) {
			h.Unread = cmp.Or(h.Unread, &run)
			continue
		}
		if h.Ended == nil {
			h.Ended = &run
		}
		if run.Problem == "" && h.Good == nil {
			h.Good = &run
		}
	}
	return h
}

// LatestFirst sorts by the start alone, which costs less than to read a whole Backup.
func LatestFirst(backups []*unstructured.Unstructured) []*unstructured.Unstructured {
	starts := make(map[*unstructured.Unstructured]time.Time, len(backups))
	for _, object := range backups {
		starts[object] = startOf(object)
	}
	return slices.SortedFunc(slices.Values(backups), func(a, b *unstructured.Unstructured) int {
		return cmp.Or(starts[b].Compare(starts[a]), cmp.Compare(a.GetName(), b.GetName()))
	})
}

// IsUnread is whether the last backup that ended is one of which the details have to be known first, and nothing is known of
// others, or the details cannot be read.
func (h History) IsUnread() bool {
	if h.Unread == nil || h.Ended != nil && Begun(*h.Unread).Before(Begun(*h.Ended)) {
		return false
	}
	return h.Ended == nil || h.Unread.DetailsProblem != ""
}

// LastRead is the last backup of which the volumes are known, or else why there is none.
func (h History) LastRead() (*backupv1alpha1.BackupRun, string) {
	for i := range h.Runs {
		run := &h.Runs[i]
		switch {
		case run.EndedAt == nil || !hasDetails(*run):
		case run.DetailsProblem != "":
			return nil, fmt.Sprintf("the volumes of backup %s are not known: %s", run.Name, run.DetailsProblem)
		case run.DetailsRead && run.Volumes == nil:
			return nil, fmt.Sprintf("the bucket does not tell which volumes backup %s has", run.Name)
		case run.DetailsRead:
			return run, ""
		}
	}
	return nil, "the volumes of a backup were not read yet"
}

// ToRead are the backups whose details are to be read, and were not, the latest first.
func (h History) ToRead() []ID {
	wanted := h.Runs
	if h.Good != nil {
		wanted = append(slices.Clone(h.Runs), *h.Good)
	}
	var unread []ID
	for _, run := range wanted {
		if run.DetailsRead || run.StartedAt == nil || !hasDetails(run) {
			continue
		}
		if id := IDOf(run); !slices.Contains(unread, id) {
			unread = append(unread, id)
		}
	}
	return unread
}
