package starts

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

func TestTheNextStartIsBeyondBlackouts(t *testing.T) {
	for name, test := range map[string]struct {
		cron    string
		windows []metav1alpha1.RecurringWindow
		want    string
	}{
		"no blackout":                  {"0 * * * *", nil, "2026-11-23T13:00:00Z"},
		"one at another time":          {"0 * * * *", []metav1alpha1.RecurringWindow{backuptest.WindowAt("0 14 * * *", time.Hour)}, "2026-11-23T13:00:00Z"},
		"one that is open":             {"30 * * * *", []metav1alpha1.RecurringWindow{backuptest.WindowAt("0 8 * * *", 10*time.Hour)}, "2026-11-23T18:30:00Z"},
		"as one opens":                 {"0 * * * *", []metav1alpha1.RecurringWindow{backuptest.WindowAt("0 13 * * *", time.Hour)}, "2026-11-23T14:00:00Z"},
		"two that touch":               {"0 * * * *", []metav1alpha1.RecurringWindow{backuptest.WindowAt("0 12 * * *", 2*time.Hour), backuptest.WindowAt("0 14 * * *", 90*time.Minute)}, "2026-11-23T16:00:00Z"},
		"on weekdays":                  {"@daily", []metav1alpha1.RecurringWindow{backuptest.WindowAt("0 20 * * 1-5", 10*time.Hour)}, "2026-11-29T00:00:00Z"},
		"every start is in a blackout": {"@daily", []metav1alpha1.RecurringWindow{backuptest.WindowAt("0 20 * * *", 10*time.Hour)}, ""},
		"it is always open":            {"@daily", []metav1alpha1.RecurringWindow{backuptest.WindowAt("@hourly", time.Hour)}, ""},
	} {
		enrollment := &backupv1alpha1.BackupEnrollment{}
		enrollment.Spec.Schedule.Blackouts = test.windows
		recurrence, refused := schedule.Parse(test.cron, "")
		if refused != nil {
			t.Fatal(refused)
		}
		got, found := BlackoutsOf(enrollment).NextStart(recurrence, backuptest.Noon)
		if found != (test.want != "") || found && got.Format(time.RFC3339) != test.want {
			t.Errorf("%s: %s, %t, not %s", name, got, found, test.want)
		}
	}
}

// TestVeleroDoesNotMakeUpForABlackout holds what Velero does with a Schedule that is resumed: it makes the last start that is
// later than lastSkipped, even if that is long ago.
func TestVeleroDoesNotMakeUpForABlackout(t *testing.T) {
	until := func(at time.Time) *metav1.Time { return &metav1.Time{Time: at} }
	open := Blackout{Open: true, Until: backuptest.Noon.Add(time.Hour)}
	for name, test := range map[string]struct {
		in   Blackout
		was  *backupv1alpha1.VeleroObjects
		want *metav1.Time
	}{
		"nothing is there yet":          {Blackout{}, nil, nil},
		"none was open":                 {Blackout{}, &backupv1alpha1.VeleroObjects{}, nil},
		"a start as it closes is made":  {open, &backupv1alpha1.VeleroObjects{}, until(backuptest.Noon.Add(time.Hour - time.Second))},
		"it was prolonged":              {open, &backupv1alpha1.VeleroObjects{SkippedUntil: until(backuptest.Noon)}, until(backuptest.Noon.Add(time.Hour - time.Second))},
		"it has ended":                  {Blackout{}, &backupv1alpha1.VeleroObjects{SkippedUntil: until(backuptest.Noon.Add(-time.Second))}, until(backuptest.Noon.Add(-time.Second))},
		"somebody ended it before time": {Blackout{}, &backupv1alpha1.VeleroObjects{SkippedUntil: until(backuptest.Noon.Add(time.Hour))}, until(backuptest.Noon)},
	} {
		if got := test.in.SkippedUntil(test.was, backuptest.Noon); !got.Equal(test.want) {
			t.Errorf("%s: %s, not %s", name, got, test.want)
		}
	}
}
