package retention

import (
	"maps"
	"slices"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
)

func TestTheLastGoodBackupStaysWhateverIsNotRead(t *testing.T) {
	all := []*unstructured.Unstructured{backuptest.StoredAt(50, "Completed"), backuptest.StoredAt(51, "Completed"), backuptest.StoredAt(52, "Completed"), backuptest.StoredAt(53, "Completed")}
	for name, row := range map[string]struct {
		keepLast  int32
		known     history.AllDetails
		due, kept []string
	}{
		"the newest is not read":      {1, history.AllDetails{backuptest.IDAt(51): backuptest.WithVolumes(1, 1)}, []string{"nightly-53", "nightly-52"}, []string{"nightly-51"}},
		"it turns out to be good":     {1, history.AllDetails{backuptest.IDAt(50): backuptest.WithVolumes(1, 1), backuptest.IDAt(51): backuptest.WithVolumes(1, 1)}, []string{"nightly-53", "nightly-52", "nightly-51"}, []string{"nightly-50"}},
		"it turns out to be bad":      {1, history.AllDetails{backuptest.IDAt(50): backuptest.WithVolumes(0, 1), backuptest.IDAt(51): backuptest.WithVolumes(1, 1)}, []string{"nightly-53", "nightly-52", "nightly-50"}, []string{"nightly-51"}},
		"the good one is far away":    {1, history.AllDetails{backuptest.IDAt(50): backuptest.WithVolumes(0, 1), backuptest.IDAt(53): backuptest.WithVolumes(1, 1)}, []string{"nightly-52", "nightly-50"}, []string{"nightly-53"}},
		"none is read":                {1, nil, []string{"nightly-53", "nightly-52", "nightly-51"}, nil},
		"several are kept":            {3, history.AllDetails{backuptest.IDAt(50): backuptest.WithVolumes(1, 1)}, []string{"nightly-53"}, []string{"nightly-50"}},
		"several, of which one's bad": {2, history.AllDetails{backuptest.IDAt(51): backuptest.WithVolumes(0, 1), backuptest.IDAt(53): backuptest.WithVolumes(1, 1)}, []string{"nightly-51"}, []string{"nightly-53"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Stored{
				Own: backuptest.Kept(48*time.Hour, row.keepLast), Backups: all, Standard: history.Standard{RequireVolumes: true, Details: row.known}, Now: backuptest.Noon,
			}.Plan()
			if names := namesOf(got.Due); !slices.Equal(names, row.due) {
				t.Errorf("%v go, not %v", names, row.due)
			}
			if names := slices.Sorted(maps.Keys(got.Kept)); !slices.Equal(names, row.kept) {
				t.Errorf("%v are kept, not %v", names, row.kept)
			}
		})
	}
}

func TestWhichBackupsStay(t *testing.T) {
	elsewhere, others := backuptest.StoredAt(50, "Completed"), backuptest.StoredAt(50, "Completed")
	elsewhere.SetLabels(map[string]string{metav1alpha1.LabelBackup: "nightly-1", velerov1.StorageLocationLabel: "default"})
	others.SetLabels(map[string]string{metav1alpha1.LabelBackup: "weekly-1", velerov1.StorageLocationLabel: "nightly-1"})
	refused := backuptest.StoredAt(50, "FailedValidation")
	unstructured.RemoveNestedField(refused.Object, "status", "startTimestamp")
	refused.SetCreationTimestamp(metav1.NewTime(backuptest.Noon.Add(-50 * time.Hour)))
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
			1, []*unstructured.Unstructured{backuptest.StoredAt(49, "Completed")}, nil, nil, []string{"nightly-49"}, 0,
		},
		"the oldest goes first": {
			1, []*unstructured.Unstructured{backuptest.StoredAt(1, "Completed"), backuptest.StoredAt(49, "Completed"), backuptest.StoredAt(60, "Completed")}, nil,
			[]string{"nightly-60", "nightly-49"}, []string{"nightly-01"}, 0,
		},
		"to the second": {
			1, []*unstructured.Unstructured{backuptest.StoredAt(1, "Completed"), backuptest.StoredAt(47, "Completed"), backuptest.StoredAt(48, "Completed")}, nil,
			[]string{"nightly-48"}, []string{"nightly-01"}, time.Hour,
		},
		"keepLast wins over ttl": {
			3, []*unstructured.Unstructured{backuptest.StoredAt(60, "Completed"), backuptest.StoredAt(70, "Completed"), backuptest.StoredAt(80, "Completed"), backuptest.StoredAt(90, "Completed")}, nil,
			[]string{"nightly-90"}, []string{"nightly-60", "nightly-70", "nightly-80"}, 0,
		},
		"those that are not good do not count, and go": {
			1, []*unstructured.Unstructured{backuptest.StoredAt(50, "Failed"), backuptest.StoredAt(51, "PartiallyFailed"), backuptest.StoredAt(52, "Completed"), backuptest.StoredAt(1, "Failed")}, nil,
			[]string{"nightly-51", "nightly-50"}, []string{"nightly-52"}, 47 * time.Hour,
		},
		"one that has not ended stays": {
			1, []*unstructured.Unstructured{backuptest.StoredAt(1, "Completed"), backuptest.StoredAt(50, "InProgress"), backuptest.StoredAt(51, "Finalizing"), backuptest.StoredAt(52, "")}, nil,
			nil, []string{"nightly-01"}, 0,
		},
		"one that Velero began to delete goes": {
			1, []*unstructured.Unstructured{backuptest.StoredAt(1, "Completed"), backuptest.StoredAt(50, "Deleting")}, nil, []string{"nightly-50"}, []string{"nightly-01"}, 0,
		},
		"one that Velero refused goes by when it was made": {
			1, []*unstructured.Unstructured{backuptest.StoredAt(1, "Completed"), refused}, nil, []string{"nightly-50"}, []string{"nightly-01"}, 0,
		},
		"those in other storage, or of others, neither count nor go": {
			2, []*unstructured.Unstructured{elsewhere, others, backuptest.StoredAt(60, "Completed")}, nil, nil, []string{"nightly-60"}, 0,
		},
		"one that a drill restores stays": {
			1, []*unstructured.Unstructured{backuptest.StoredAt(1, "Completed"), backuptest.StoredAt(50, "Completed"), backuptest.StoredAt(51, "Completed")}, []string{"nightly-51"},
			[]string{"nightly-50"}, []string{"nightly-01"}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Stored{
				Own: backuptest.Kept(48*time.Hour, test.keepLast), Backups: test.backups, Restored: test.restored, Standard: history.Standard{MinItems: 1}, Now: backuptest.Noon,
			}.Plan()
			if names := namesOf(got.Due); !slices.Equal(names, test.due) {
				t.Errorf("%v go, not %v", names, test.due)
			}
			if names := slices.Sorted(maps.Keys(got.Kept)); !slices.Equal(names, test.kept) {
				t.Errorf("%v are kept, not %v", names, test.kept)
			}
			if want := backuptest.Noon.Add(test.wake); test.wake == 0 && !got.WakeAt.IsZero() || test.wake != 0 && !got.WakeAt.Equal(want) {
				t.Errorf("it is looked again at %s, not in %s", got.WakeAt, test.wake)
			}
		})
	}
}

// TestNoneOfTheLastGoodOnesGoesWhateverIsSeenOfThem takes every part of a history: the watch shows 500 backups of more.
func TestNoneOfTheLastGoodOnesGoesWhateverIsSeenOfThem(t *testing.T) {
	const count, keepLast = 8, 3
	var all []*unstructured.Unstructured
	for i := range count {
		all = append(all, backuptest.StoredAt(50+i, []string{"Completed", "Failed"}[i%2]))
	}
	stays := Stored{Own: backuptest.Kept(time.Hour, keepLast), Backups: all, Now: backuptest.Noon}.Plan().Kept
	for part := range 1 << count {
		var seen []*unstructured.Unstructured
		for i, backup := range all {
			if part&(1<<i) != 0 {
				seen = append(seen, backup)
			}
		}
		for _, name := range namesOf(Stored{Own: backuptest.Kept(time.Hour, keepLast), Backups: seen, Now: backuptest.Noon}.Plan().Due) {
			if stays[name] {
				t.Fatalf("of %b, %s goes", part, name)
			}
		}
	}
}
