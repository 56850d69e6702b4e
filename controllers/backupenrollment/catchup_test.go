package backupenrollment

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
)

// missing is an enrollment since yesterday whose start of 10:00 failed.
func missing() *observation {
	o := withBlackouts(false)
	o.Extra.velero.schedule.Object["status"] = map[string]any{"lastBackup": backuptest.Noon.Add(-2 * time.Hour).Format(time.RFC3339)}
	o.Extra.velero.backups.Objects = []*unstructured.Unstructured{backuptest.FailedAt(2)}
	o.Target.Name, o.Target.UID = "nightly-prod", "uid"
	o.Target.CreationTimestamp = metav1.NewTime(backuptest.Noon.Add(-24 * time.Hour))
	o.Status.Velero.Cron = "0 2,10 * * *"
	return o
}

func TestWhatKeepsABackupFromBeingCaughtUp(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*observation)
		made   bool
	}{
		"nothing":             {func(*observation) {}, true},
		"the policy says so":  {func(o *observation) { o.Target.Spec.Schedule.CatchUp = ptr.To(false) }, false},
		"the policy wants it": {func(o *observation) { o.Target.Spec.Schedule.CatchUp = ptr.To(true) }, true},
		"a suspension":        {func(o *observation) { o.Suspension.Active = true }, false},
		"a request":           {func(o *observation) { o.Extra.request = &requested{} }, false},
		"Velero's silence":    {func(o *observation) { o.Extra.velero.location = locationAt("Available", "", time.Hour) }, false},
		"its storage":         {func(o *observation) { o.Extra.velero.location = locationAt("Unavailable", "", time.Minute) }, false},
		"a Schedule unseen":   {func(o *observation) { o.Extra.velero.schedule = nil }, false},
		"Backups unseen":      {func(o *observation) { o.Extra.velero.backups.Listed = false }, false},
		"too many Backups":    {func(o *observation) { o.Extra.velero.backups.Incomplete = true }, false},
		"an enrollment anew":  {func(o *observation) { o.Target.CreationTimestamp = metav1.NewTime(backuptest.Noon.Add(-time.Hour)) }, false},
		"a schedule anew": {func(o *observation) {
			o.Status.Velero.StartsSince = &metav1.Time{Time: backuptest.Noon.Add(-time.Hour)}
		}, false},
		"a Schedule behind":     {func(o *observation) { delete(o.Extra.velero.schedule.Object, "status") }, false},
		"one for the start":     {func(o *observation) { o.Status.CaughtUp = caughtUpAt(backuptest.Noon.Add(-2 * time.Hour)) }, false},
		"one for another start": {func(o *observation) { o.Status.CaughtUp = caughtUpAt(backuptest.Noon.Add(-10 * time.Hour)) }, true},
	} {
		o := missing()
		test.change(o)
		if got, _ := catchUpOf(o, "cluster-1"); (got != nil) != test.made {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func caughtUpAt(start time.Time) *backupv1alpha1.CaughtUpBackup {
	return &backupv1alpha1.CaughtUpBackup{ScheduledAt: metav1.NewTime(start), Action: metav1alpha1.Action{Outcome: metav1alpha1.ActionFailed}}
}

// TestACaughtUpBackupIsMadeOnce goes through what a manager may find after it was killed, too.
func TestACaughtUpBackupIsMadeOnce(t *testing.T) {
	o := missing()
	first, _ := catchUpOf(o, "cluster-1")
	if first == nil || !first.isNew || first.step != action.Make || !strings.HasPrefix(first.Action.Object, "velero.io/v1/Backup/velero/nightly-prod-catchup-") ||
		first.Reason != backupv1alpha1.CatchUpFailed || !strings.Contains(first.Message, "the disk is full") || !first.ScheduledAt.Time.Equal(backuptest.Noon.Add(-2*time.Hour)) {
		t.Fatalf("got %+v", first)
	}
	first.record(&o.Status)
	if again, _ := catchUpOf(o, "cluster-1"); again.isNew || again.step != action.Make || again.Action.Object != first.Action.Object {
		t.Errorf("a manager that was killed before it made the backup: %+v", again)
	}
	made := func(phase string) *unstructured.Unstructured {
		backup := backuptest.BackupAt(0, phase, 3, nil)
		backup.SetGroupVersionKind(veleroobjects.BackupKind)
		backup.SetNamespace("velero")
		backup.SetName(first.Action.Object[strings.LastIndex(first.Action.Object, "/")+1:])
		backup.SetUID("made")
		return backup
	}
	o.Extra.velero.backups.Objects = []*unstructured.Unstructured{made("InProgress")}
	if running, _ := catchUpOf(o, "cluster-1"); running.step != action.Wait || running.ended || running.Action.UID != "made" {
		t.Errorf("while it runs: %+v", running)
	}
	o.Extra.velero.backups.Objects = []*unstructured.Unstructured{made("Completed")}
	if done, _ := catchUpOf(o, "cluster-1"); !done.ended || done.Action.Outcome != metav1alpha1.ActionSucceeded || catchUpWarning(done) != nil {
		t.Errorf("when it is done: %+v", done)
	}
	o.Extra.velero.backups.Objects = []*unstructured.Unstructured{made("Failed")}
	failed, _ := catchUpOf(o, "cluster-1")
	if failed.Action.Outcome != metav1alpha1.ActionFailed || catchUpWarning(failed) == nil {
		t.Errorf("when it failed: %+v", failed)
	}
	failed.record(&o.Status)
	if next, _ := catchUpOf(o, "cluster-1"); next != nil {
		t.Errorf("the same start is caught up again: %+v", next)
	}
}

func TestARecordedBackupIsNotMadeInABlackoutOrAfterItsDeadline(t *testing.T) {
	recorded := func() *observation {
		o := missing()
		first, _ := catchUpOf(o, "cluster-1")
		first.record(&o.Status)
		return o
	}
	closed := recorded()
	closed.Target.Spec.Schedule.Blackouts = []metav1alpha1.RecurringWindow{backuptest.WindowAt("0 11 * * *", 2*time.Hour)}
	if waiting, _ := catchUpOf(closed, "cluster-1"); waiting.step != action.Wait || waiting.ended {
		t.Errorf("in a blackout: %+v", waiting)
	}
	late := recorded()
	late.Now = backuptest.Noon.Add(2*time.Hour + time.Second)
	late.Extra.velero.location = locationAt("Available", "", -2*time.Hour)
	over, _ := catchUpOf(late, "cluster-1")
	if over.step != action.Wait || over.Action.Outcome != metav1alpha1.ActionTimedOut || !strings.Contains(over.Action.Message, "spec.schedule.startingDeadline") {
		t.Errorf("after the deadline: %+v", over)
	}
}

func TestAStartIsNotCaughtUpBeforeItsBackupIsRead(t *testing.T) {
	for name, row := range map[string]struct {
		known history.AllDetails
		owed  bool
	}{"unread": {}, "bad": {history.AllDetails{backuptest.IDAt(2): backuptest.WithVolumes(0, 1)}, true}, "good": {history.AllDetails{backuptest.IDAt(2): backuptest.WithVolumes(1, 1)}, false}} {
		o := missing()
		o.Target.Spec.RequireVolumes, o.Extra.reading.Known = true, row.known
		o.Extra.velero.backups.Objects = []*unstructured.Unstructured{backuptest.BackupAt(2, "Completed", 3, nil)}
		known, ok := startsOf(o)
		if got, _ := known.Owed(backuptest.Noon); !ok || (got != nil) != row.owed {
			t.Errorf("%s: got %+v, %t", name, got, ok)
		}
	}
}
