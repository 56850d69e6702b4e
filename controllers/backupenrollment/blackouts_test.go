package backupenrollment

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

func windowAt(expression string, duration time.Duration) metav1alpha1.RecurringWindow {
	return metav1alpha1.RecurringWindow{Schedule: expression, Duration: metav1.Duration{Duration: duration}}
}

// scheduleWith is a Schedule of Velero's that is paused, or not.
func scheduleWith(paused bool) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "nightly-1", "namespace": "velero"}, "spec": map[string]any{"paused": paused},
	}}
}

// withBlackouts is an enrollment whose Schedule the cluster shows.
func withBlackouts(paused bool, windows ...metav1alpha1.RecurringWindow) *observation {
	velero := shown(locationAt("Available", "", time.Minute))
	velero.schedule = scheduleWith(paused)
	o := enrolled(velero, 0)
	o.Target.Spec.Schedule.Blackouts = windows
	return o
}

func TestTheNextStartIsBeyondBlackouts(t *testing.T) {
	for name, test := range map[string]struct {
		cron    string
		windows []metav1alpha1.RecurringWindow
		want    string
	}{
		"no blackout":                  {"0 * * * *", nil, "2026-11-23T13:00:00Z"},
		"one at another time":          {"0 * * * *", []metav1alpha1.RecurringWindow{windowAt("0 14 * * *", time.Hour)}, "2026-11-23T13:00:00Z"},
		"one that is open":             {"30 * * * *", []metav1alpha1.RecurringWindow{windowAt("0 8 * * *", 10*time.Hour)}, "2026-11-23T18:30:00Z"},
		"as one opens":                 {"0 * * * *", []metav1alpha1.RecurringWindow{windowAt("0 13 * * *", time.Hour)}, "2026-11-23T14:00:00Z"},
		"two that touch":               {"0 * * * *", []metav1alpha1.RecurringWindow{windowAt("0 12 * * *", 2*time.Hour), windowAt("0 14 * * *", 90*time.Minute)}, "2026-11-23T16:00:00Z"},
		"on weekdays":                  {"@daily", []metav1alpha1.RecurringWindow{windowAt("0 20 * * 1-5", 10*time.Hour)}, "2026-11-29T00:00:00Z"},
		"every start is in a blackout": {"@daily", []metav1alpha1.RecurringWindow{windowAt("0 20 * * *", 10*time.Hour)}, ""},
		"it is always open":            {"@daily", []metav1alpha1.RecurringWindow{windowAt("@hourly", time.Hour)}, ""},
	} {
		starts, refused := schedule.Parse(test.cron, "")
		if refused != nil {
			t.Fatal(refused)
		}
		got, found := blackoutsOf(withBlackouts(false, test.windows...).Target).nextStart(starts, noon)
		if found != (test.want != "") || found && got.Format(time.RFC3339) != test.want {
			t.Errorf("%s: %s, %t, not %s", name, got, found, test.want)
		}
	}
}

func TestABlackoutIsToldAsTheClusterShowsIt(t *testing.T) {
	open, later := windowAt("0 11 * * *", 3*time.Hour), windowAt("0 13 * * *", time.Hour)
	unreachable := func(o *observation) { o.Unreachable, o.Extra.velero = "no answer for 3m", nil }
	suspended := func(o *observation) { o.Suspension.Active = true }
	for name, test := range map[string]struct {
		paused bool
		window metav1alpha1.RecurringWindow
		change func(*observation)
		status metav1.ConditionStatus
		reason string
		says   string
		// needed: something is to be written.
		needed bool
	}{
		"one comes":                             {false, later, nil, "False", backupv1alpha1.ReasonNoBlackout, "2026-11-23T13:00:00Z", false},
		"one has just opened":                   {false, open, nil, "Unknown", metav1alpha1.ReasonProgressing, "about to be paused", true},
		"one is open":                           {true, open, nil, "True", backupv1alpha1.ReasonBlackoutOpen, "since 2026-11-23T11:00:00Z, until 2026-11-23T14:00:00Z", false},
		"one opened while there was no answer":  {false, open, unreachable, "Unknown", backupv1alpha1.ReasonBlackoutNotSet, "since 2026-11-23T11:00:00Z, until 2026-11-23T14:00:00Z), and could not be set: no answer for 3m", true},
		"one opened, and then the cluster left": {true, open, unreachable, "True", backupv1alpha1.ReasonBlackoutOpen, "2026-11-23T14:00:00Z", false},
		"one opened during a suspension":        {false, open, suspended, "Unknown", backupv1alpha1.ReasonBlackoutNotSet, "could not be set", true},
		"one has just ended":                    {true, later, nil, "Unknown", metav1alpha1.ReasonProgressing, "about to be resumed", true},
		"one ended while there was no answer":   {true, later, unreachable, "Unknown", backupv1alpha1.ReasonBlackoutNotLifted, "still paused: no answer for 3m", true},
	} {
		o := withBlackouts(test.paused, test.window)
		o.Status.Velero.Paused = test.paused
		o.Status.Velero.SkippedUntil = &metav1.Time{Time: noon.Add(2*time.Hour - time.Second)}
		if test.change != nil {
			test.change(o)
		}
		told := o.Status
		(&Reconciler{}).Outcome(o).Tell(&told)
		got := meta.FindStatusCondition(told.Conditions, backupv1alpha1.ConditionInBlackout)
		if got == nil || got.Status != test.status || got.Reason != test.reason || !strings.Contains(got.Message, test.says) {
			t.Errorf("%s: %+v", name, got)
		}
		if told.Velero.Paused != test.paused {
			t.Errorf("%s: paused is told as %t", name, told.Velero.Paused)
		}
		if needsPause(o) != test.needed {
			t.Errorf("%s: something is to be written: %t", name, !test.needed)
		}
	}
}

func TestWithoutBlackoutsNothingIsToldOfThem(t *testing.T) {
	o := withBlackouts(false)
	told := o.Status
	told.Conditions = []metav1.Condition{{Type: backupv1alpha1.ConditionInBlackout, Status: metav1.ConditionTrue}}
	(&Reconciler{}).Outcome(o).Tell(&told)
	if got := meta.FindStatusCondition(told.Conditions, backupv1alpha1.ConditionInBlackout); got != nil || needsPause(o) {
		t.Errorf("got %+v, and something is to be written: %t", got, needsPause(o))
	}
}

func TestAnEnrollmentIsLookedAtAsABlackoutOpensAndCloses(t *testing.T) {
	for window, want := range map[metav1alpha1.RecurringWindow]time.Time{
		windowAt("0 11 * * *", 3*time.Hour): noon.Add(2 * time.Hour), windowAt("0 13 * * *", time.Hour): noon.Add(time.Hour),
	} {
		o := withBlackouts(false, window)
		o.Unreachable, o.Extra.velero = "no answer", nil // Then nothing else is due.
		if due := (&Reconciler{}).Outcome(o).Due; !slices.ContainsFunc(due, want.Equal) {
			t.Errorf("%s: due at %v, not %s", window.Schedule, due, want)
		}
	}
}

// TestVeleroDoesNotMakeUpForABlackout holds what Velero does with a Schedule that is resumed: it makes the last start that is
// later than lastSkipped, even if that is long ago.
func TestVeleroDoesNotMakeUpForABlackout(t *testing.T) {
	until := func(at time.Time) *metav1.Time { return &metav1.Time{Time: at} }
	open := blackout{open: true, until: noon.Add(time.Hour)}
	for name, test := range map[string]struct {
		in   blackout
		was  *backupv1alpha1.VeleroObjects
		want *metav1.Time
	}{
		"nothing is there yet":          {blackout{}, nil, nil},
		"none was open":                 {blackout{}, &backupv1alpha1.VeleroObjects{}, nil},
		"a start as it closes is made":  {open, &backupv1alpha1.VeleroObjects{}, until(noon.Add(time.Hour - time.Second))},
		"it was prolonged":              {open, &backupv1alpha1.VeleroObjects{SkippedUntil: until(noon)}, until(noon.Add(time.Hour - time.Second))},
		"it has ended":                  {blackout{}, &backupv1alpha1.VeleroObjects{SkippedUntil: until(noon.Add(-time.Second))}, until(noon.Add(-time.Second))},
		"somebody ended it before time": {blackout{}, &backupv1alpha1.VeleroObjects{SkippedUntil: until(noon.Add(time.Hour))}, until(noon)},
	} {
		if got := test.in.skippedUntil(test.was, noon); !got.Equal(test.want) {
			t.Errorf("%s: %s, not %s", name, got, test.want)
		}
	}
	declared := scheduleWith(false)
	pause(declared, &backupv1alpha1.VeleroObjects{Paused: true, SkippedUntil: until(noon)})
	paused, _, _ := unstructured.NestedBool(declared.Object, "spec", "paused")
	skipped, _, _ := unstructured.NestedString(declared.Object, "status", "lastSkipped")
	if !paused || skipped != "2026-11-23T12:00:00Z" {
		t.Errorf("declared as %v", declared.Object)
	}
}
