package backupenrollment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
)

// storedAt is a Backup of the enrollment nightly-1, which started so many hours before noon.
func storedAt(hoursAgo int, phase string) *unstructured.Unstructured {
	backup := backupAt(hoursAgo, phase, 3, map[string]any{"expiration": noon.Add(1000 * time.Hour).Format(time.RFC3339)})
	backup.SetUID(types.UID("uid-of-" + backup.GetName()))
	backup.SetLabels(map[string]string{metav1alpha1.LabelBackup: "nightly-1", velerov1.StorageLocationLabel: "nightly-1"})
	return backup
}

func kept(ttl time.Duration, keepLast int32) *backupv1alpha1.VeleroObjects {
	return &backupv1alpha1.VeleroObjects{
		Name: "nightly-1", Namespace: "velero", Cron: "30 2 * * *", TTL: &metav1.Duration{Duration: ttl}, KeepLast: keepLast,
	}
}

func namesOf(due []deletion) (names []string) {
	for _, one := range due {
		names = append(names, one.backup)
	}
	return names
}

func TestWhichBackupsStay(t *testing.T) {
	elsewhere, others := storedAt(50, "Completed"), storedAt(50, "Completed")
	elsewhere.SetLabels(map[string]string{metav1alpha1.LabelBackup: "nightly-1", velerov1.StorageLocationLabel: "default"})
	others.SetLabels(map[string]string{metav1alpha1.LabelBackup: "weekly-1", velerov1.StorageLocationLabel: "nightly-1"})
	refused := storedAt(50, "FailedValidation")
	unstructured.RemoveNestedField(refused.Object, "status", "startTimestamp")
	refused.SetCreationTimestamp(metav1.NewTime(noon.Add(-50 * time.Hour)))
	for name, test := range map[string]struct {
		keepLast int32
		backups  []*unstructured.Unstructured
		restored []string
		// due and kept are names, wake is in how long to look again; 0 for never.
		due, kept []string
		wake      time.Duration
	}{
		"none": {keepLast: 1},
		"the last good one stays beyond its time": {
			1, []*unstructured.Unstructured{storedAt(49, "Completed")}, nil, nil, []string{"nightly-49"}, 0,
		},
		"the oldest goes first": {
			1, []*unstructured.Unstructured{storedAt(1, "Completed"), storedAt(49, "Completed"), storedAt(60, "Completed")}, nil,
			[]string{"nightly-60", "nightly-49"}, []string{"nightly-01"}, 0,
		},
		"to the second": {
			1, []*unstructured.Unstructured{storedAt(1, "Completed"), storedAt(47, "Completed"), storedAt(48, "Completed")}, nil,
			[]string{"nightly-48"}, []string{"nightly-01"}, time.Hour,
		},
		"keepLast wins over ttl": {
			3, []*unstructured.Unstructured{storedAt(60, "Completed"), storedAt(70, "Completed"), storedAt(80, "Completed"), storedAt(90, "Completed")}, nil,
			[]string{"nightly-90"}, []string{"nightly-60", "nightly-70", "nightly-80"}, 0,
		},
		"those that are not good do not count, and go": {
			1, []*unstructured.Unstructured{storedAt(50, "Failed"), storedAt(51, "PartiallyFailed"), storedAt(52, "Completed"), storedAt(1, "Failed")}, nil,
			[]string{"nightly-51", "nightly-50"}, []string{"nightly-52"}, 47 * time.Hour,
		},
		"one that has not ended stays": {
			1, []*unstructured.Unstructured{storedAt(1, "Completed"), storedAt(50, "InProgress"), storedAt(51, "Finalizing"), storedAt(52, "")}, nil,
			nil, []string{"nightly-01"}, 0,
		},
		"one that Velero began to delete goes": {
			1, []*unstructured.Unstructured{storedAt(1, "Completed"), storedAt(50, "Deleting")}, nil, []string{"nightly-50"}, []string{"nightly-01"}, 0,
		},
		"one that Velero refused goes by when it was made": {
			1, []*unstructured.Unstructured{storedAt(1, "Completed"), refused}, nil, []string{"nightly-50"}, []string{"nightly-01"}, 0,
		},
		"those in other storage, or of others, neither count nor go": {
			2, []*unstructured.Unstructured{elsewhere, others, storedAt(60, "Completed")}, nil, nil, []string{"nightly-60"}, 0,
		},
		"one that a drill restores stays": {
			1, []*unstructured.Unstructured{storedAt(1, "Completed"), storedAt(50, "Completed"), storedAt(51, "Completed")}, []string{"nightly-51"},
			[]string{"nightly-50"}, []string{"nightly-01"}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := stored{
				own: kept(48*time.Hour, test.keepLast), backups: test.backups, restored: test.restored, standard: standard{minItems: 1}, now: noon,
			}.planRetention()
			if names := namesOf(got.due); !slices.Equal(names, test.due) {
				t.Errorf("%v go, not %v", names, test.due)
			}
			if names := slices.Sorted(maps.Keys(got.kept)); !slices.Equal(names, test.kept) {
				t.Errorf("%v are kept, not %v", names, test.kept)
			}
			if want := noon.Add(test.wake); test.wake == 0 && !got.wakeAt.IsZero() || test.wake != 0 && !got.wakeAt.Equal(want) {
				t.Errorf("it is looked again at %s, not in %s", got.wakeAt, test.wake)
			}
		})
	}
}

// TestNoneOfTheLastGoodOnesGoesWhateverIsSeenOfThem takes every part of a history: the watch shows 500 backups of more.
func TestNoneOfTheLastGoodOnesGoesWhateverIsSeenOfThem(t *testing.T) {
	const count, keepLast = 8, 3
	var all []*unstructured.Unstructured
	for i := range count {
		all = append(all, storedAt(50+i, []string{"Completed", "Failed"}[i%2]))
	}
	stays := stored{own: kept(time.Hour, keepLast), backups: all, now: noon}.planRetention().kept
	for part := range 1 << count {
		var seen []*unstructured.Unstructured
		for i, backup := range all {
			if part&(1<<i) != 0 {
				seen = append(seen, backup)
			}
		}
		for _, name := range namesOf(stored{own: kept(time.Hour, keepLast), backups: seen, now: noon}.planRetention().due) {
			if stays[name] {
				t.Fatalf("of %b, %s goes", part, name)
			}
		}
	}
}

func TestTheStatusTellsUntilWhenBackupsStay(t *testing.T) {
	early := storedAt(3, "Completed")
	must(t, unstructured.SetNestedField(early.Object, noon.Add(time.Hour).Format(time.RFC3339), "status", "expiration"))
	o := enrolled(shown(locationAt("Available", "", time.Minute), storedAt(1, "Completed"), storedAt(2, "Completed"), early), 0)
	o.Status.Velero = kept(48*time.Hour, 1)
	o.Extra.retention = retentionOf(o)
	status := &backupv1alpha1.BackupEnrollmentStatus{}
	(&Reconciler{}).Outcome(o).Tell(status)
	for i, want := range []struct {
		at   time.Time
		kept bool
	}{{noon.Add(1000 * time.Hour), true}, {noon.Add(46 * time.Hour), false}, {noon.Add(time.Hour), false}} {
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
		o := enrolled(shown(locationAt("Available", "", time.Minute), storedAt(1, "Completed"), storedAt(50, "Completed")), 0)
		o.Extra.velero.deletions = fleet.Observed{KindState: tracker.KindState{Listed: true}}
		o.Status.Velero = kept(time.Hour, 1)
		return o
	}
	if due := namesOf(retentionOf(expired()).due); !slices.Equal(due, []string{"nightly-50"}) {
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
		if unknown := o.Extra.velero.deletions.Unknown; unknown != "" && !strings.Contains(retentionOf(o).finding().message, unknown) {
			t.Errorf("%s: it is told as %+v", name, retentionOf(o).finding())
		}
		if due := retentionOf(o).due; len(due) > 0 {
			t.Errorf("%s: %v", name, due)
		}
	}
}

func TestWhatCannotBeDeletedIsTold(t *testing.T) {
	backups := []*unstructured.Unstructured{storedAt(1, "Completed"), storedAt(50, "Deleting"), storedAt(51, "Completed")}
	failed := requestFor(backups[1], 1, 20*time.Second, "Processed", strings.Repeat("access denied ", 1000))
	r := stored{own: kept(time.Hour, 1), backups: backups, requests: []*unstructured.Unstructured{failed}, now: noon, retryBy: noon}.planRetention()
	f := r.finding()
	if f.status != metav1.ConditionFalse || f.reason != backupv1alpha1.ReasonDeletionFailed || !strings.Contains(f.message, "backup nightly-50: access denied") {
		t.Errorf("got %+v", f)
	}
	if told := r.told(); told.Remaining != 2 || told.Failed != 1 || len(told.Message) > 768 {
		t.Errorf("got %+v", told)
	}
	if due := namesOf(r.due); !slices.Equal(due, []string{"nightly-51"}) || !f.due.Equal(noon.Add(10*time.Second)) {
		t.Errorf("%v are due, and it is looked again at %s", due, f.due)
	}
}

// requestFor is a request to delete a backup, made so long before noon.
func requestFor(backup *unstructured.Unstructured, attempt int, ago time.Duration, phase string, errs ...any) *unstructured.Unstructured {
	request := deletion{backup: backup.GetName(), uid: backup.GetUID(), attempt: attempt}.request(kept(time.Hour, 1))
	request.SetUID(types.UID(fmt.Sprintf("request-%d-for-%s", attempt, backup.GetName())))
	request.SetCreationTimestamp(metav1.NewTime(noon.Add(-ago)))
	request.Object["status"] = map[string]any{"phase": phase, "errors": errs}
	return request
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
