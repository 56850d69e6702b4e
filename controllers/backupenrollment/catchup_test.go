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
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
	"github.com/daytwo-dev/daytwo/controllers/internal/maintenance"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

func failedAt(hoursAgo int) *unstructured.Unstructured {
	return backupAt(hoursAgo, "Failed", 0, map[string]any{"failureReason": "the disk is full"})
}

func runningAt(hoursAgo int) *unstructured.Unstructured {
	return backupAt(hoursAgo, "InProgress", 0, nil)
}

// TestAStartIsOwedUntilAGoodBackupFollowsIt has starts at 02:00 and 10:00, and asks at noon.
func TestAStartIsOwedUntilAGoodBackupFollowsIt(t *testing.T) {
	hours := func(ago float64) time.Time { return noon.Add(-time.Duration(ago * float64(time.Hour))) }
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
		"a good backup followed":         {backups: []*unstructured.Unstructured{backupAt(2, "Completed", 3, nil)}},
		"one that people asked for":      {backups: []*unstructured.Unstructured{backupAt(1, "Completed", 3, nil), failedAt(2)}},
		"the backup failed":              {backups: []*unstructured.Unstructured{failedAt(2)}, at: hours(2), reason: "Failed"},
		"it failed, and others before":   {backups: []*unstructured.Unstructured{failedAt(2), failedAt(10)}, at: hours(2), reason: "Failed"},
		"there is none":                  {at: hours(2), reason: "Missed"},
		"only one from before":           {backups: []*unstructured.Unstructured{backupAt(3, "Completed", 3, nil)}, at: hours(2), reason: "Missed"},
		"one is under way":               {backups: []*unstructured.Unstructured{runningAt(1), failedAt(2)}},
		"one from before is under way":   {backups: []*unstructured.Unstructured{runningAt(5)}},
		"Velero is going to make it":     {pending: true},
		"the deadline is over":           {deadline: time.Hour},
		"the deadline ends":              {deadline: 2 * time.Hour},
		"the deadline is about to end":   {deadline: 2*time.Hour + time.Second, at: hours(2), reason: "Missed"},
		"it was caught up, or too early": {since: hours(2)},
		"the one before is not":          {since: hours(2), deadline: 24 * time.Hour},
		"a moment ago":                   {cron: "58 11 * * *", wakeAt: noon.Add(3 * time.Minute)},
		"five minutes ago":               {cron: "55 11 * * *", at: noon.Add(-5 * time.Minute), reason: "Missed"},
		"now":                            {cron: "0 12 * * *", wakeAt: noon.Add(5 * time.Minute)},
		"it failed a moment ago":         {cron: "58 11 * * *", backups: []*unstructured.Unstructured{failedAt(0)}, wakeAt: noon.Add(2 * time.Minute)},
		"a blackout is open":             {windows: []metav1alpha1.RecurringWindow{windowAt("0 11 * * *", 2*time.Hour)}},
		"it fell into a blackout":        {windows: []metav1alpha1.RecurringWindow{windowAt("30 9 * * *", time.Hour)}},
		"it fell into a blackout, and the one before was missed": {
			windows: []metav1alpha1.RecurringWindow{windowAt("30 9 * * *", time.Hour)}, deadline: 12 * time.Hour, at: hours(10), reason: "Missed",
		},
		"after a blackout": {windows: []metav1alpha1.RecurringWindow{windowAt("30 10 * * *", time.Hour)}, at: hours(2), reason: "Missed"},
	} {
		if test.cron == "" {
			test.cron = "0 2,10 * * *"
		}
		recurrence, refused := schedule.Parse(test.cron, "")
		calendar, err := maintenance.Parse("", test.windows)
		if refused != nil || err != nil {
			t.Fatal(refused, err)
		}
		known := starts{
			Recurrence: recurrence, blackouts: blackouts{calendar}, since: test.since, deadline: test.deadline, doneUntil: noon, told: historyOf(test.backups, standard{minItems: 1}),
		}
		if test.deadline == 0 {
			known.deadline = defaultDeadline
		}
		if test.pending {
			known.doneUntil = hours(3)
		}
		got, wakeAt := known.owed(noon)
		switch {
		case test.at.IsZero() != (got == nil) || !wakeAt.Equal(test.wakeAt):
			t.Errorf("%s: %+v, and again at %s", name, got, wakeAt)
		case got != nil && (!got.at.Equal(test.at) || got.reason != test.reason || got.message == ""):
			t.Errorf("%s: %+v, not %s of %s", name, got, test.reason, test.at)
		}
	}
}

// missing is an enrollment since yesterday whose start of 10:00 failed.
func missing() *observation {
	o := withBlackouts(false)
	o.Extra.velero.schedule.Object["status"] = map[string]any{"lastBackup": noon.Add(-2 * time.Hour).Format(time.RFC3339)}
	o.Extra.velero.backups.Objects = []*unstructured.Unstructured{failedAt(2)}
	o.Target.Name, o.Target.UID = "nightly-prod", "uid"
	o.Target.CreationTimestamp = metav1.NewTime(noon.Add(-24 * time.Hour))
	o.Status.Velero.Cron = "0 2,10 * * *"
	return o
}

func TestWhatKeepsABackupFromBeingCaughtUp(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*observation)
		made   bool
	}{
		"nothing":               {func(*observation) {}, true},
		"the policy says so":    {func(o *observation) { o.Target.Spec.Schedule.CatchUp = ptr.To(false) }, false},
		"the policy wants it":   {func(o *observation) { o.Target.Spec.Schedule.CatchUp = ptr.To(true) }, true},
		"a suspension":          {func(o *observation) { o.Suspension.Active = true }, false},
		"a request":             {func(o *observation) { o.Extra.request = &requested{} }, false},
		"Velero's silence":      {func(o *observation) { o.Extra.velero.location = locationAt("Available", "", time.Hour) }, false},
		"its storage":           {func(o *observation) { o.Extra.velero.location = locationAt("Unavailable", "", time.Minute) }, false},
		"a Schedule unseen":     {func(o *observation) { o.Extra.velero.schedule = nil }, false},
		"Backups unseen":        {func(o *observation) { o.Extra.velero.backups.Listed = false }, false},
		"too many Backups":      {func(o *observation) { o.Extra.velero.backups.Incomplete = true }, false},
		"an enrollment anew":    {func(o *observation) { o.Target.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour)) }, false},
		"a schedule anew":       {func(o *observation) { o.Status.Velero.StartsSince = &metav1.Time{Time: noon.Add(-time.Hour)} }, false},
		"a Schedule behind":     {func(o *observation) { delete(o.Extra.velero.schedule.Object, "status") }, false},
		"one for the start":     {func(o *observation) { o.Status.CaughtUp = caughtUpAt(noon.Add(-2 * time.Hour)) }, false},
		"one for another start": {func(o *observation) { o.Status.CaughtUp = caughtUpAt(noon.Add(-10 * time.Hour)) }, true},
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
		first.Reason != backupv1alpha1.CatchUpFailed || !strings.Contains(first.Message, "the disk is full") || !first.ScheduledAt.Time.Equal(noon.Add(-2*time.Hour)) {
		t.Fatalf("got %+v", first)
	}
	first.record(&o.Status)
	if again, _ := catchUpOf(o, "cluster-1"); again.isNew || again.step != action.Make || again.Action.Object != first.Action.Object {
		t.Errorf("a manager that was killed before it made the backup: %+v", again)
	}
	made := func(phase string) *unstructured.Unstructured {
		backup := backupAt(0, phase, 3, nil)
		backup.SetGroupVersionKind(backupKind)
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
	closed.Target.Spec.Schedule.Blackouts = []metav1alpha1.RecurringWindow{windowAt("0 11 * * *", 2*time.Hour)}
	if waiting, _ := catchUpOf(closed, "cluster-1"); waiting.step != action.Wait || waiting.ended {
		t.Errorf("in a blackout: %+v", waiting)
	}
	late := recorded()
	late.Now = noon.Add(2*time.Hour + time.Second)
	late.Extra.velero.location = locationAt("Available", "", -2*time.Hour)
	over, _ := catchUpOf(late, "cluster-1")
	if over.step != action.Wait || over.Action.Outcome != metav1alpha1.ActionTimedOut || !strings.Contains(over.Action.Message, "spec.schedule.startingDeadline") {
		t.Errorf("after the deadline: %+v", over)
	}
}

func TestAScheduleBeginsWithItsExpression(t *testing.T) {
	earlier := &metav1.Time{Time: noon.Add(-time.Hour)}
	for name, test := range map[string]struct {
		was  *backupv1alpha1.VeleroObjects
		want *metav1.Time
	}{
		"nothing was there":             {nil, &metav1.Time{Time: noon}},
		"as before":                     {&backupv1alpha1.VeleroObjects{Cron: "0 2 * * *", StartsSince: earlier}, earlier},
		"as before there was a record":  {&backupv1alpha1.VeleroObjects{Cron: "0 2 * * *"}, nil},
		"another expression":            {&backupv1alpha1.VeleroObjects{Cron: "0 3 * * *", StartsSince: earlier, Until: &metav1.Time{Time: noon.Add(time.Hour)}}, &metav1.Time{Time: noon}},
		"the clock of the zone was set": {&backupv1alpha1.VeleroObjects{Cron: "0 3 * * *", StartsSince: earlier, Until: &metav1.Time{Time: noon}}, earlier},
	} {
		if got := startsSince(test.was, "0 2 * * *", noon); !got.Equal(test.want) {
			t.Errorf("%s: %s, not %s", name, got, test.want)
		}
	}
}
