package starts

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/internal/maintenance"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

func runningAt(hoursAgo int) *unstructured.Unstructured {
	return backuptest.BackupAt(hoursAgo, "InProgress", 0, nil)
}

// TestAStartIsOwedUntilAGoodBackupFollowsIt has starts at 02:00 and 10:00, and asks at noon.
func TestAStartIsOwedUntilAGoodBackupFollowsIt(t *testing.T) {
	hours := func(ago float64) time.Time { return backuptest.Noon.Add(-time.Duration(ago * float64(time.Hour))) }
	for name, test := range map[string]struct {
		backups []*unstructured.Unstructured
		// cron is "0 2,10 * * *" if it is empty.
		cron     string
		windows  []metav1alpha1.RecurringWindow
		deadline time.Duration
		since    time.Time
		// pending: Velero has not done with the start.
		pending bool
		// at is when the start is that is owed; zero for none.
		at     time.Time
		reason backupv1alpha1.CatchUpReason
		wakeAt time.Time
	}{
		"a good backup followed":         {backups: []*unstructured.Unstructured{backuptest.BackupAt(2, "Completed", 3, nil)}},
		"one that people asked for":      {backups: []*unstructured.Unstructured{backuptest.BackupAt(1, "Completed", 3, nil), backuptest.FailedAt(2)}},
		"the backup failed":              {backups: []*unstructured.Unstructured{backuptest.FailedAt(2)}, at: hours(2), reason: "Failed"},
		"it failed, and others before":   {backups: []*unstructured.Unstructured{backuptest.FailedAt(2), backuptest.FailedAt(10)}, at: hours(2), reason: "Failed"},
		"there is none":                  {at: hours(2), reason: "Missed"},
		"only one from before":           {backups: []*unstructured.Unstructured{backuptest.BackupAt(3, "Completed", 3, nil)}, at: hours(2), reason: "Missed"},
		"one is under way":               {backups: []*unstructured.Unstructured{runningAt(1), backuptest.FailedAt(2)}},
		"one from before is under way":   {backups: []*unstructured.Unstructured{runningAt(5)}},
		"Velero is going to make it":     {pending: true},
		"the deadline is over":           {deadline: time.Hour},
		"the deadline ends":              {deadline: 2 * time.Hour},
		"the deadline is about to end":   {deadline: 2*time.Hour + time.Second, at: hours(2), reason: "Missed"},
		"it was caught up, or too early": {since: hours(2)},
		"the one before is not":          {since: hours(2), deadline: 24 * time.Hour},
		"a moment ago":                   {cron: "58 11 * * *", wakeAt: backuptest.Noon.Add(3 * time.Minute)},
		"five minutes ago":               {cron: "55 11 * * *", at: backuptest.Noon.Add(-5 * time.Minute), reason: "Missed"},
		"now":                            {cron: "0 12 * * *", wakeAt: backuptest.Noon.Add(5 * time.Minute)},
		"it failed a moment ago":         {cron: "58 11 * * *", backups: []*unstructured.Unstructured{backuptest.FailedAt(0)}, wakeAt: backuptest.Noon.Add(2 * time.Minute)},
		"a blackout is open":             {windows: []metav1alpha1.RecurringWindow{backuptest.WindowAt("0 11 * * *", 2*time.Hour)}},
		"it fell into a blackout":        {windows: []metav1alpha1.RecurringWindow{backuptest.WindowAt("30 9 * * *", time.Hour)}},
		"it fell into a blackout, and the one before was missed": {
			windows: []metav1alpha1.RecurringWindow{backuptest.WindowAt("30 9 * * *", time.Hour)}, deadline: 12 * time.Hour, at: hours(10), reason: "Missed",
		},
		"after a blackout": {windows: []metav1alpha1.RecurringWindow{backuptest.WindowAt("30 10 * * *", time.Hour)}, at: hours(2), reason: "Missed"},
	} {
		if test.cron == "" {
			test.cron = "0 2,10 * * *"
		}
		recurrence, refused := schedule.Parse(test.cron, "")
		calendar, err := maintenance.Parse("", test.windows)
		if refused != nil || err != nil {
			t.Fatal(refused, err)
		}
		known := Situation{
			Recurrence: recurrence, Blackouts: Blackouts{calendar}, Since: test.since, Deadline: test.deadline, DoneUntil: backuptest.Noon, Told: history.Of(test.backups, history.Standard{MinItems: 1}),
		}
		if test.deadline == 0 {
			known.Deadline = defaultDeadline
		}
		if test.pending {
			known.DoneUntil = hours(3)
		}
		got, wakeAt := known.Owed(backuptest.Noon)
		switch {
		case test.at.IsZero() != (got == nil) || !wakeAt.Equal(test.wakeAt):
			t.Errorf("%s: %+v, and again at %s", name, got, wakeAt)
		case got != nil && (!got.At.Equal(test.at) || got.Reason != test.reason || got.Message == ""):
			t.Errorf("%s: %+v, not %s of %s", name, got, test.reason, test.at)
		}
	}
}
