package history

import (
	"fmt"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
)

// ID tells backups of one name apart by their start, in seconds since 1970.
type ID struct {
	Name  string
	Start int64
}

// IDOf a backup that has started.
func IDOf(run backupv1alpha1.BackupRun) ID {
	return ID{run.Name, run.StartedAt.Unix()}
}

// Details are what the bucket tells of a backup, or why that is not known.
type Details struct {
	// Read: they are known. Problem is why they are not; empty if nobody has tried, or they are.
	Read    bool
	Problem string
	// Bytes are its size in the bucket; nil while that is not known.
	Bytes *int64
	// Problems are errors and warnings, errors first. Those that are warnings begin with WarningMark.
	Problems []string
	// Volumes are those that it has, and has not; nil if nobody wrote which.
	Volumes *backupv1alpha1.BackupVolumes
}

// AllDetails are those of several backups, by ID.
type AllDetails map[ID]Details

// tellOf adds the details of a backup to what is told of it.
func (d AllDetails) tellOf(run *backupv1alpha1.BackupRun) {
	if run.StartedAt == nil {
		return
	}
	one := d[IDOf(*run)]
	run.DetailsRead, run.DetailsProblem, run.Bytes, run.Problems, run.Volumes = one.Read, one.Problem, one.Bytes, one.Problems, one.Volumes
}

// RecordedDetails are those that a status tells of.
func RecordedDetails(status *backupv1alpha1.BackupEnrollmentStatus) AllDetails {
	recorded := AllDetails{}
	add := func(run backupv1alpha1.BackupRun) {
		if run.StartedAt != nil {
			recorded[IDOf(run)] = Details{Read: run.DetailsRead, Problem: run.DetailsProblem, Bytes: run.Bytes, Problems: run.Problems, Volumes: run.Volumes}
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

// WarningMark is what the problem of a backup begins with that is a warning.
const WarningMark = "warning: "
