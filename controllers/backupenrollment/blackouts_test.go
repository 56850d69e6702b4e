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
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
)

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

func TestABlackoutIsToldAsTheClusterShowsIt(t *testing.T) {
	open, later := backuptest.WindowAt("0 11 * * *", 3*time.Hour), backuptest.WindowAt("0 13 * * *", time.Hour)
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
		o.Status.Velero.SkippedUntil = &metav1.Time{Time: backuptest.Noon.Add(2*time.Hour - time.Second)}
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
		backuptest.WindowAt("0 11 * * *", 3*time.Hour): backuptest.Noon.Add(2 * time.Hour), backuptest.WindowAt("0 13 * * *", time.Hour): backuptest.Noon.Add(time.Hour),
	} {
		o := withBlackouts(false, window)
		o.Unreachable, o.Extra.velero = "no answer", nil // Then nothing else is due.
		if due := (&Reconciler{}).Outcome(o).Due; !slices.ContainsFunc(due, want.Equal) {
			t.Errorf("%s: due at %v, not %s", window.Schedule, due, want)
		}
	}
}
