package backupenrollment

import (
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// backupID tells backups of one name apart by their start, in seconds since 1970.
type backupID struct {
	name  string
	start int64
}

func idOfRun(run backupv1alpha1.BackupRun) backupID {
	return backupID{run.Name, run.StartedAt.Unix()}
}

// details are what the bucket tells of a backup, or why that is not known.
type details struct {
	read     bool
	problem  string
	bytes    *int64
	problems []string
	volumes  *backupv1alpha1.BackupVolumes
}

// allDetails are those of several backups.
type allDetails map[backupID]details

// tellOf adds the details of a backup to what is told of it.
func (d allDetails) tellOf(run *backupv1alpha1.BackupRun) {
	if run.StartedAt == nil {
		return
	}
	one := d[idOfRun(*run)]
	run.DetailsRead, run.DetailsProblem, run.Bytes, run.Problems, run.Volumes = one.read, one.problem, one.bytes, one.problems, one.volumes
}

// recordedDetails are those that a status tells of.
func recordedDetails(status *backupv1alpha1.BackupEnrollmentStatus) allDetails {
	recorded := allDetails{}
	add := func(run backupv1alpha1.BackupRun) {
		if run.StartedAt != nil {
			recorded[idOfRun(run)] = details{read: run.DetailsRead, problem: run.DetailsProblem, bytes: run.Bytes, problems: run.Problems, volumes: run.Volumes}
		}
	}
	for _, run := range status.Runs {
		add(run)
	}
	if status.LastSuccessful != nil {
		add(*status.LastSuccessful)
	}
	return recorded
}

// reading is which details are known, and which are to be read.
type reading struct {
	known allDetails
	// unread are the backups of which they are not known, the latest first, and due those that are to be read now.
	unread, due []backupID
	// settled: all that was read is on record.
	settled bool
	// again is when a try that failed is repeated; zero for never.
	again time.Time
}

// planReading decides about the backups that the cluster shows, by how far the task is that reads their details. The last ten
// are read, and the last good one. What is on record is not read again.
func planReading(o *observation, progress background.Progress[allDetails]) reading {
	r := reading{known: recordedDetails(&o.Status), settled: true}
	r.add(progress.Result)
	r.unread = unreadOf(historyOf(o.Extra.velero.backups.Objects, standardOf(o, r.known)))
	if progress.Err != nil {
		r.explain(truncate.Message(progress.Err.Error(), maxProblem))
	}
	switch {
	case progress.Running:
	case progress.Err != nil && o.Now.Before(progress.Again):
		r.again = progress.Again
	default:
		r.due = r.unread
	}
	return r
}

// add takes in what was read just now.
func (r *reading) add(found allDetails) {
	for id, one := range found {
		if r.known[id].read {
			continue
		}
		r.settled = r.settled && !one.read
		r.known[id] = one
	}
}

// explain says of backups that are not read why that is, unless more is known of it.
func (r *reading) explain(why string) {
	for _, id := range r.unread {
		if r.known[id].problem == "" {
			r.known[id] = details{problem: why}
		}
	}
}

// unreadOf are the backups of a history that are to be read, and were not, the latest first.
func unreadOf(h history) []backupID {
	wanted := h.runs
	if h.good != nil {
		wanted = append(slices.Clone(h.runs), *h.good)
	}
	var unread []backupID
	for _, run := range wanted {
		if run.DetailsRead || run.StartedAt == nil || !hasDetails(run) {
			continue
		}
		if id := idOfRun(run); !slices.Contains(unread, id) {
			unread = append(unread, id)
		}
	}
	return unread
}

// hasDetails is whether Velero has written all that there will be of a backup. What is left of one that failed is worth
// nothing.
func hasDetails(run backupv1alpha1.BackupRun) bool {
	phase := velerov1.BackupPhase(run.Phase)
	return phase == velerov1.BackupPhaseCompleted || phase == velerov1.BackupPhasePartiallyFailed
}

// problemOfVolumes says which volumes a backup lacks; empty for none.
func problemOfVolumes(volumes *backupv1alpha1.BackupVolumes) string {
	if volumes == nil {
		return "the bucket does not tell which volumes it has, and spec.requireVolumes asks for all"
	}
	missing := *volumes.Total - *volumes.Covered
	switch {
	case missing <= 0:
		return ""
	case len(volumes.Uncovered) == 0:
		return fmt.Sprintf("%d volumes were not backed up", missing)
	}
	first := volumes.Uncovered[0]
	text := fmt.Sprintf("volume %s was not backed up: %s", first.Name, first.Reason)
	if missing > 1 {
		text += fmt.Sprintf("; nor were %d more", missing-1)
	}
	return text
}

// warningMark is what the problem of a backup begins with that is a warning.
const warningMark = "warning: "
