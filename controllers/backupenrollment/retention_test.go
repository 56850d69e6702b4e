package backupenrollment

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/retention"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
)

func TestTheStatusTellsUntilWhenBackupsStay(t *testing.T) {
	early := backuptest.StoredAt(3, "Completed")
	must(t, unstructured.SetNestedField(early.Object, backuptest.Noon.Add(time.Hour).Format(time.RFC3339), "status", "expiration"))
	o := enrolled(shown(locationAt("Available", "", time.Minute), backuptest.StoredAt(1, "Completed"), backuptest.StoredAt(2, "Completed"), early), 0)
	o.Status.Velero = backuptest.Kept(48*time.Hour, 1)
	o.Extra.retention = retentionOf(o)
	status := &backupv1alpha1.BackupEnrollmentStatus{}
	(&Reconciler{}).Outcome(o).Tell(status)
	for i, want := range []struct {
		at   time.Time
		kept bool
	}{{backuptest.Noon.Add(1000 * time.Hour), true}, {backuptest.Noon.Add(46 * time.Hour), false}, {backuptest.Noon.Add(time.Hour), false}} {
		if run := status.Runs[i]; !run.ExpiresAt.Equal(ptrTo(want.at)) || run.Kept != want.kept {
			t.Errorf("%s expires at %s, kept %t, not at %s, kept %t", run.Name, run.ExpiresAt, run.Kept, want.at, want.kept)
		}
	}
	if !status.LastSuccessful.Kept || status.Deletions != nil {
		t.Errorf("the last good one is told as %+v, deletions as %+v", status.LastSuccessful, status.Deletions)
	}
}

func ptrTo(at time.Time) *metav1.Time { told := metav1.NewTime(at); return &told }

func TestNothingIsDeletedWhereItWouldFailOrIsNotWanted(t *testing.T) {
	expired := func() *observation {
		o := enrolled(shown(locationAt("Available", "", time.Minute), backuptest.StoredAt(1, "Completed"), backuptest.StoredAt(50, "Completed")), 0)
		o.Extra.velero.deletions = fleet.Observed{KindState: tracker.KindState{Listed: true}}
		o.Status.Velero = backuptest.Kept(time.Hour, 1)
		return o
	}
	if due := namesDue(retentionOf(expired()).Due); !slices.Equal(due, []string{"nightly-50"}) {
		t.Fatalf("%v are due, so nothing is shown here", due)
	}
	for name, change := range map[string]func(o *observation){
		"the storage cannot be used":   func(o *observation) { o.Extra.velero.location = locationAt("Unavailable", "", time.Minute) },
		"work is suspended":            func(o *observation) { o.Suspension = suspension.During("people look at it") },
		"the requests are not known":   func(o *observation) { o.Extra.velero.deletions = fleet.Observed{} },
		"the requests cannot be known": func(o *observation) { o.Extra.velero.deletions.KindState = tracker.KindState{Unknown: "forbidden"} },
		"the backups are not known":    func(o *observation) { o.Extra.velero.backups.KindState = tracker.KindState{} },
		"the retention is not known":   func(o *observation) { o.Status.Velero.TTL = nil },
		"Velero is gone":               func(o *observation) { o.Extra.velero = &seen{missing: true} },
	} {
		o := expired()
		change(o)
		if unknown := o.Extra.velero.deletions.Unknown; unknown != "" && !strings.Contains(retentionFinding(retentionOf(o)).message, unknown) {
			t.Errorf("%s: it is told as %+v", name, retentionFinding(retentionOf(o)))
		}
		if due := retentionOf(o).Due; len(due) > 0 {
			t.Errorf("%s: %v", name, due)
		}
	}
}

func TestWhatCannotBeDeletedIsTold(t *testing.T) {
	backups := []*unstructured.Unstructured{backuptest.StoredAt(1, "Completed"), backuptest.StoredAt(50, "Deleting"), backuptest.StoredAt(51, "Completed")}
	failed := madeRequest(backups[1], 1, 20*time.Second, "Processed", strings.Repeat("access denied ", 1000))
	r := retention.Stored{Own: backuptest.Kept(time.Hour, 1), Backups: backups, Requests: []*unstructured.Unstructured{failed}, Now: backuptest.Noon, RetryBy: backuptest.Noon}.Plan()
	f := retentionFinding(r)
	if f.status != metav1.ConditionFalse || f.reason != backupv1alpha1.ReasonDeletionFailed || !strings.Contains(f.message, "backup nightly-50: access denied") {
		t.Errorf("got %+v", f)
	}
	if told := r.Told(); told.Remaining != 2 || told.Failed != 1 || len(told.Message) > 768 {
		t.Errorf("got %+v", told)
	}
	if due := namesDue(r.Due); !slices.Equal(due, []string{"nightly-51"}) || !f.due.Equal(backuptest.Noon.Add(10*time.Second)) {
		t.Errorf("%v are due, and it is looked again at %s", due, f.due)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhoAsksForATryNeedNotWait(t *testing.T) {
	backup := backuptest.StoredAt(50, "Completed")
	o := enrolled(shown(nil, backuptest.StoredAt(1, "Completed"), backup), 0)
	o.Status.Velero = backuptest.Kept(time.Hour, 1)
	o.Extra.velero.deletions.Objects = []*unstructured.Unstructured{madeRequest(backup, 9, time.Minute, "Processed", "no")}
	for request, want := range map[string]int{"": 0, "now": 1} {
		o.Request = request
		if due := storedOf(o).Plan().Due; len(due) != want {
			t.Errorf("with the request %q, %d are due", request, len(due))
		}
	}
}

func namesDue(due []retention.Deletion) (names []string) {
	for _, one := range due {
		names = append(names, one.Backup)
	}
	return names
}

// madeRequest is a request to delete a backup, made so long before noon.
func madeRequest(backup *unstructured.Unstructured, attempt int, ago time.Duration, phase string, errs ...any) *unstructured.Unstructured {
	request := retention.Deletion{Backup: backup.GetName(), UID: backup.GetUID(), Attempt: attempt}.Request(backuptest.Kept(time.Hour, 1))
	request.SetUID(types.UID(fmt.Sprintf("request-%d-for-%s", attempt, backup.GetName())))
	request.SetCreationTimestamp(metav1.NewTime(backuptest.Noon.Add(-ago)))
	request.Object["status"] = map[string]any{"phase": phase, "errors": errs}
	return request
}
