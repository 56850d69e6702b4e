package backupenrollment

import (
	"fmt"
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
	for id, one := range progress.Result {
		if before := r.known[id]; !before.read && one.read {
			r.settled = false
		}
		if !r.known[id].read {
			r.known[id] = one
		}
	}
	h := historyOf(o.Extra.velero.backups.Objects, standardOf(o, r.known))
	wanted := h.runs
	if h.good != nil {
		wanted = append(wanted[:len(wanted):len(wanted)], *h.good)
	}
	asked := map[backupID]bool{}
	for _, run := range wanted {
		if run.DetailsRead || run.StartedAt == nil || !hasDetails(run) || asked[idOfRun(run)] {
			continue
		}
		id := idOfRun(run)
		asked[id] = true
		r.unread = append(r.unread, id)
		if progress.Err != nil && r.known[id].problem == "" {
			r.known[id] = details{problem: truncate.Message(progress.Err.Error(), maxProblem)}
		}
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
