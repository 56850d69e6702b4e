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
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// locationAt is a BackupStorageLocation that Velero looked at so long before noon.
func locationAt(phase, message string, ago time.Duration) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "nightly-1", "namespace": "velero"},
		"status":   map[string]any{"phase": phase, "message": message, "lastValidationTime": backuptest.Noon.Add(-ago).Format(time.RFC3339)},
	}}
}

func enrolled(velero *seen, rpo time.Duration) *observation {
	o := &observation{Target: &backupv1alpha1.BackupEnrollment{}}
	o.Now = backuptest.Noon
	o.Target.CreationTimestamp = metav1.NewTime(backuptest.Noon.Add(-90 * time.Minute))
	if rpo > 0 {
		o.Target.Spec.Objectives.RPO = &metav1.Duration{Duration: rpo}
	}
	o.Status.Velero = &backupv1alpha1.VeleroObjects{Name: "nightly-1", Namespace: "velero", Cron: "30 2 * * *"}
	o.Extra.velero = velero
	return o
}

func shown(location *unstructured.Unstructured, backups ...*unstructured.Unstructured) *seen {
	return &seen{location: location, backups: fleet.Observed{KindState: tracker.KindState{Listed: true}, Objects: backups}}
}

func TestWhatIsWrongWithBackupsIsTold(t *testing.T) {
	available := locationAt("Available", "", time.Minute)
	good := backuptest.BackupAt(2, "Completed", 41, nil)
	refused := shown(available, good)
	refused.schedule = &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "nightly-1"}, "status": map[string]any{"phase": "FailedValidation", "validationErrors": []any{"no such location"}},
	}}
	partial := shown(available, good)
	partial.backups.Incomplete = true
	unknown := shown(available, good)
	unknown.backups.KindState = tracker.KindState{Unknown: "the conversion webhook is down"}
	for name, test := range map[string]struct {
		velero *seen
		rpo    time.Duration
		// unhealthy is the reason why the enrollment is not Ready; empty if it is.
		unhealthy string
		// conditions are statuses by type.
		conditions map[string]metav1.ConditionStatus
		says       string
	}{
		"all is well": {
			shown(available, good), 3 * time.Hour, "",
			map[string]metav1.ConditionStatus{"StorageAvailable": "True", "BackupsHealthy": "True", "RPOMet": "True"},
			"last good backup nightly-02 of 2026-11-23T10:00:00Z, 41 objects; next 2026-11-24T02:30:00Z",
		},
		"no backup yet": {
			shown(available), 2 * time.Hour, "",
			map[string]metav1.ConditionStatus{"StorageAvailable": "True", "BackupsHealthy": "Unknown", "RPOMet": "Unknown"},
			"no backup yet; next 2026-11-24T02:30:00Z",
		},
		"no backup for longer than the data may be old": {
			shown(available), time.Hour, backupv1alpha1.ReasonRPOMissed, map[string]metav1.ConditionStatus{"RPOMet": "False"}, "there is no good backup",
		},
		"the last good backup is too old": {
			shown(available, good), time.Hour, backupv1alpha1.ReasonRPOMissed, map[string]metav1.ConditionStatus{"BackupsHealthy": "True", "RPOMet": "False"}, "2026-11-23T10:00:00Z",
		},
		"no objective": {
			shown(available, good), 0, "", map[string]metav1.ConditionStatus{"RPOMet": "Unknown"}, "last good backup",
		},
		"the last backup failed": {
			shown(available, backuptest.BackupAt(1, "Failed", 0, map[string]any{"failureReason": "no room"}), good), 3 * time.Hour, backupv1alpha1.ReasonBackupFailed,
			map[string]metav1.ConditionStatus{"BackupsHealthy": "False", "RPOMet": "True"}, "backup nightly-01 (Failed): no room",
		},
		"the storage cannot be used": {
			shown(locationAt("Unavailable", "access denied, RequestID: 18A5B0C2D3E4F5, HostID: abcdef012345", time.Minute), good), 3 * time.Hour, backupv1alpha1.ReasonStorageUnavailable,
			map[string]metav1.ConditionStatus{"StorageAvailable": "False"}, "Velero cannot use the storage: access denied",
		},
		"the storage was not looked at": {
			shown(locationAt("", "", time.Minute)), 3 * time.Hour, backupv1alpha1.ReasonStorageNotChecked, map[string]metav1.ConditionStatus{"StorageAvailable": "Unknown"}, "not looked at the storage yet",
		},
		"Velero does not run": {
			shown(locationAt("Available", "", 2*veleroobjects.ValidateEvery+time.Minute), good), 3 * time.Hour, backupv1alpha1.ReasonVeleroUnavailable,
			map[string]metav1.ConditionStatus{"StorageAvailable": "False"}, "see whether its Deployment in namespace velero runs",
		},
		"Velero is gone":              {&seen{missing: true}, 3 * time.Hour, backupv1alpha1.ReasonVeleroUnavailable, nil, "install Velero again"},
		"the schedule is refused":     {refused, 3 * time.Hour, backupv1alpha1.ReasonScheduleInvalid, nil, "no such location"},
		"backups cannot be listed":    {unknown, 3 * time.Hour, metav1alpha1.ReasonKindUnavailable, nil, "the conversion webhook is down"},
		"there are too many to watch": {partial, 3 * time.Hour, "", map[string]metav1.ConditionStatus{"BackupsHealthy": "Unknown", "RPOMet": "True"}, "last good backup"},
	} {
		t.Run(name, func(t *testing.T) {
			got := (&Reconciler{}).Outcome(enrolled(test.velero, test.rpo))
			reason, message := "", got.Summary
			if got.Unhealthy != nil {
				reason, message = got.Unhealthy.Reason, got.Unhealthy.Message
			}
			if reason != test.unhealthy || !strings.Contains(message, test.says) {
				t.Errorf("%q: %s; want %q: … %s", reason, message, test.unhealthy, test.says)
			}
			status := &backupv1alpha1.BackupEnrollmentStatus{}
			got.Tell(status)
			for kind, want := range test.conditions {
				if err := expect.Condition(status.Conditions, kind, want, ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestWhatWasKnownStaysUntilTheWatchHasListed(t *testing.T) {
	pending := &seen{}
	status := &backupv1alpha1.BackupEnrollmentStatus{LastSuccessful: &backupv1alpha1.BackupRun{Name: "known"}}
	(&Reconciler{}).Outcome(enrolled(pending, 0)).Tell(status)
	if status.LastSuccessful == nil || len(status.Conditions) != 0 {
		t.Errorf("got %+v", status)
	}
}

func TestAnEnrollmentIsLookedAtWhenSomethingMayDiffer(t *testing.T) {
	got := (&Reconciler{}).Outcome(enrolled(shown(locationAt("Available", "", time.Minute), backuptest.BackupAt(2, "Completed", 41, nil)), 3*time.Hour))
	for what, want := range map[string]time.Time{
		"Velero may have stopped": backuptest.Noon.Add(2 * veleroobjects.ValidateEvery), "the data is too old": backuptest.Noon.Add(time.Hour), "the next backup starts": backuptest.Noon.Add(14*time.Hour + 30*time.Minute),
	} {
		found := false
		for _, due := range got.Due {
			found = found || due.Equal(want)
		}
		if !found {
			t.Errorf("it is not looked at when %s, at %s: %v", what, want, got.Due)
		}
	}
}

func TestOneFailureIsToldInTheSameWordsEachTime(t *testing.T) {
	var told []string
	for _, id := range []string{"18A5B0C2D3E4F5", "99F5B0C2D3E411"} {
		status := &backupv1alpha1.BackupEnrollmentStatus{}
		velero := shown(locationAt("Unavailable", "api error AccessDenied, RequestID: "+id+", HostID: x"+id, time.Minute))
		(&Reconciler{}).Outcome(enrolled(velero, 0)).Tell(status)
		told = append(told, meta.FindStatusCondition(status.Conditions, backupv1alpha1.ConditionStorageAvailable).Message)
	}
	if told[0] != told[1] {
		t.Errorf("%q and %q", told[0], told[1])
	}
}

func TestStorageThatCannotBeUsedIsLookedAtOften(t *testing.T) {
	available := func(ago time.Duration) []metav1.Condition {
		return []metav1.Condition{{Type: backupv1alpha1.ConditionStorageAvailable, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(backuptest.Noon.Add(-ago))}}
	}
	for name, test := range map[string]struct {
		phase      string
		is         time.Duration
		conditions []metav1.Condition
		want       time.Duration
	}{
		"it works":                        {"Available", veleroobjects.ValidateEvery, available(time.Hour), veleroobjects.ValidateEvery},
		"it broke":                        {"Unavailable", veleroobjects.ValidateEvery, available(time.Hour), veleroobjects.ValidateBroken},
		"it is broken":                    {"Unavailable", veleroobjects.ValidateBroken, nil, veleroobjects.ValidateBroken},
		"it works again, since a moment":  {"Available", veleroobjects.ValidateBroken, available(time.Second), veleroobjects.ValidateBroken},
		"it works again":                  {"Available", veleroobjects.ValidateBroken, available(veleroobjects.ValidateEvery), veleroobjects.ValidateEvery},
		"it has not been looked at":       {"", veleroobjects.ValidateEvery, nil, veleroobjects.ValidateEvery},
		"it has not been looked at again": {"", veleroobjects.ValidateBroken, nil, veleroobjects.ValidateBroken},
	} {
		o := enrolled(shown(locationAt(test.phase, "", time.Minute)), 0)
		o.Status.Velero.ValidationFrequency, o.Status.Conditions = &metav1.Duration{Duration: test.is}, test.conditions
		o.Status.Velero.CredentialsVersion = o.Extra.version
		if got := validationFrequency(o); got != test.want {
			t.Errorf("%s: every %s, not %s", name, got, test.want)
		}
		if needs := (&Reconciler{}).NeedsDesired(o); needs != (test.is != test.want) {
			t.Errorf("%s: it is declared anew: %t", name, needs)
		}
	}
}

func TestWhatWasJustMadeForVeleroIsLookedAtAgain(t *testing.T) {
	o := enrolled(nil, 0)
	o.Status.Velero, o.Extra.arranged = nil, &backupv1alpha1.VeleroObjects{Name: "nightly-1", Namespace: "velero", Cron: "30 2 * * *"}
	got := (&Reconciler{}).Outcome(o)
	if got.Unhealthy == nil || got.Unhealthy.Reason != backupv1alpha1.ReasonStorageNotChecked || !slices.Contains(got.Due, backuptest.Noon) {
		t.Errorf("got %+v", got)
	}
}

func TestWhatWasToldStaysUntilTheWatchesShowMore(t *testing.T) {
	pending := shown(nil)
	pending.backups.KindState = tracker.KindState{}
	o := enrolled(pending, 0)
	if got := (&Reconciler{}).Outcome(o); got.Unhealthy == nil || got.Unhealthy.Reason != backupv1alpha1.ReasonStorageNotChecked {
		t.Errorf("nothing was told of the storage yet, and now: %+v", got)
	}
	meta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{Type: backupv1alpha1.ConditionStorageAvailable, Status: metav1.ConditionTrue, Reason: "Test"})
	o.Status.LastSuccessful = &backupv1alpha1.BackupRun{Name: "nightly-1", StartedAt: ptrTo(backuptest.Noon), Items: 41}
	if got := (&Reconciler{}).Outcome(o); got.Unhealthy != nil || !strings.Contains(got.Summary, "nightly-1") {
		t.Errorf("all was well, and now: %+v", got)
	}
	meta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{
		Type: backupv1alpha1.ConditionBackupsHealthy, Status: metav1.ConditionFalse, Reason: backupv1alpha1.ReasonBackupFailed, Message: "no room",
	})
	if got := (&Reconciler{}).Outcome(o); got.Unhealthy == nil || got.Unhealthy.Message != "no room" {
		t.Errorf("a backup had failed, and now: %+v", got)
	}
}

func TestABackupWhoseVolumesCannotBeReadIsTold(t *testing.T) {
	list := []*unstructured.Unstructured{backuptest.BackupAt(1, "Completed", 3, nil), backuptest.BackupAt(5, "Completed", 3, nil)}
	known := history.AllDetails{backuptest.IDAt(1): history.Details{Problem: "no answer"}, backuptest.IDAt(5): backuptest.WithVolumes(0, 1)}
	f := backupsFinding(history.Of(list, history.Standard{RequireVolumes: true, Details: known}), false)
	if f.reason != backupv1alpha1.ReasonDetailsUnknown || !strings.Contains(f.message, "nightly-01") || !strings.Contains(f.message, "no answer") {
		t.Errorf("told is %+v", f)
	}
}
