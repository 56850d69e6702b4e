package details

import (
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
)

func TestWhichDetailsAreRead(t *testing.T) {
	var many []*unstructured.Unstructured
	for hour := 1; hour <= 12; hour++ {
		many = append(many, backuptest.BackupAt(hour, "Completed", 3, nil))
	}
	failing := background.Progress[history.AllDetails]{Err: errors.New("no credentials"), Again: backuptest.Noon.Add(time.Minute)}
	for name, row := range map[string]struct {
		backups  []*unstructured.Unstructured
		recorded []backupv1alpha1.BackupRun
		progress background.Progress[history.AllDetails]
		// due are hours before noon.
		due     []int
		problem string
		again   bool
	}{
		"the last ten":                     {backups: many, due: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		"those that have ended well":       {backups: []*unstructured.Unstructured{backuptest.BackupAt(1, "InProgress", 3, nil), backuptest.BackupAt(2, "Failed", 3, nil), backuptest.BackupAt(3, "PartiallyFailed", 3, nil), backuptest.BackupAt(4, "Deleting", 3, nil)}, due: []int{3}},
		"the last good one":                {backups: append(failed(10), many[11]), due: []int{12}},
		"none that is on record":           {backups: many[:2], recorded: []backupv1alpha1.BackupRun{readRun(1)}, due: []int{2}},
		"none while others are being read": {backups: many[:2], progress: background.Progress[history.AllDetails]{Running: true}},
		"none before the next try":         {backups: many[:1], progress: failing, problem: "no credentials", again: true},
		"what failed, in time":             {backups: many[:1], progress: background.Progress[history.AllDetails]{Err: failing.Err, Again: backuptest.Noon}, due: []int{1}, problem: "no credentials"},
		"what failed, with what it says":   {backups: many[:1], progress: background.Progress[history.AllDetails]{Err: failing.Err, Again: backuptest.Noon, Result: history.AllDetails{backuptest.IDAt(1): {Problem: "too large"}}}, due: []int{1}, problem: "too large"},
		"nothing that was read":            {backups: many[:1], progress: background.Progress[history.AllDetails]{Done: true, Result: history.AllDetails{backuptest.IDAt(1): backuptest.WithVolumes(1, 1)}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := PlanReading(row.backups, history.Standard{Details: history.RecordedDetails(&backupv1alpha1.BackupEnrollmentStatus{Runs: row.recorded})}, row.progress, backuptest.Noon)
			var want []history.ID
			for _, hour := range row.due {
				want = append(want, backuptest.IDAt(hour))
			}
			if !slices.Equal(got.Due, want) || got.Again.IsZero() == row.again {
				t.Errorf("to be read are %v, again at %s", got.Due, got.Again)
			}
			if told := got.Known[backuptest.IDAt(1)].Problem; told != row.problem {
				t.Errorf("the problem is %q", told)
			}
		})
	}
}

// failed are so many backups that failed, the latest ones.
func failed(count int) (list []*unstructured.Unstructured) {
	for hour := 1; hour <= count; hour++ {
		list = append(list, backuptest.BackupAt(hour, "Failed", 3, nil))
	}
	return list
}

// readRun is a backup on record the details of which were read.
func readRun(hoursAgo int) backupv1alpha1.BackupRun {
	run, _ := history.RunOf(backuptest.BackupAt(hoursAgo, "Completed", 3, nil), history.Standard{Details: history.AllDetails{backuptest.IDAt(hoursAgo): backuptest.WithVolumes(1, 1)}})
	return run
}

func TestDetailsSurviveARestart(t *testing.T) {
	run := readRun(1)
	if !run.DetailsRead || *run.Bytes != 1000 || *run.Volumes.Total != 1 {
		t.Fatalf("recorded is %+v", run)
	}
	recorded := history.RecordedDetails(&backupv1alpha1.BackupEnrollmentStatus{LastSuccessful: &run})
	got := PlanReading([]*unstructured.Unstructured{backuptest.BackupAt(1, "Completed", 3, nil)}, history.Standard{Details: recorded}, background.Progress[history.AllDetails]{}, backuptest.Noon)
	again, _ := history.RunOf(backuptest.BackupAt(1, "Completed", 3, nil), history.Standard{Details: got.Known})
	if len(got.Unread) > 0 || *again.Bytes != 1000 || *again.Volumes.Covered != 1 {
		t.Errorf("got %+v, %+v", got, again)
	}
}

func TestAnotherBackupOfTheSameNameIsReadAnew(t *testing.T) {
	recorded := readRun(1)
	recorded.StartedAt.Time = recorded.StartedAt.Add(-time.Hour)
	known := history.RecordedDetails(&backupv1alpha1.BackupEnrollmentStatus{Runs: []backupv1alpha1.BackupRun{recorded}})
	backups := []*unstructured.Unstructured{backuptest.BackupAt(1, "Completed", 3, nil)}
	if got := PlanReading(backups, history.Standard{Details: known}, background.Progress[history.AllDetails]{}, backuptest.Noon); !slices.Equal(got.Due, []history.ID{backuptest.IDAt(1)}) {
		t.Errorf("to be read are %v", got.Due)
	}
}
