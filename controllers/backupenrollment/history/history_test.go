package history_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
)

func TestWhatMakesAGoodBackup(t *testing.T) {
	strict := history.Standard{MinItems: 1}
	for name, test := range map[string]struct {
		backup *unstructured.Unstructured
		history.Standard
		problem string
	}{
		"complete":                      {backuptest.BackupAt(1, "Completed", 3, nil), strict, ""},
		"empty":                         {backuptest.BackupAt(1, "Completed", 0, nil), strict, "spec.minItems asks for 1"},
		"empty, which is allowed":       {backuptest.BackupAt(1, "Completed", 0, nil), history.Standard{}, ""},
		"partial":                       {backuptest.BackupAt(1, "PartiallyFailed", 3, map[string]any{"errors": int64(2)}), strict, "2 errors; see velero backup logs nightly-01"},
		"partial, which is allowed":     {backuptest.BackupAt(1, "PartiallyFailed", 3, nil), history.Standard{AcceptPartiallyFailed: true}, ""},
		"failed":                        {backuptest.BackupAt(1, "Failed", 3, map[string]any{"failureReason": "no room"}), strict, "no room"},
		"failed for no reason":          {backuptest.BackupAt(1, "Failed", 3, nil), history.Standard{AcceptPartiallyFailed: true}, "Velero gives no reason"},
		"refused":                       {backuptest.BackupAt(1, "FailedValidation", 0, map[string]any{"validationErrors": []any{"no location"}}), strict, "Velero refused it: no location"},
		"being deleted":                 {backuptest.BackupAt(1, "Deleting", 3, nil), strict, "it is being deleted"},
		"complete without having begun": {backuptest.BackupAt(1, "Completed", 3, map[string]any{"startTimestamp": nil}), strict, "does not say when it started"},
	} {
		run, ok := history.RunOf(test.backup, test.Standard)
		if !ok || run.EndedAt == nil || !strings.Contains(run.Problem, test.problem) || (test.problem == "") != (run.Problem == "") {
			t.Errorf("%s: %+v, want the problem %q", name, run, test.problem)
		}
	}
	for _, phase := range []string{"", "New", "Queued", "ReadyToStart", "InProgress", "WaitingForPluginOperations", "Finalizing", "FinalizingPartiallyFailed"} {
		if run, _ := history.RunOf(backuptest.BackupAt(1, phase, 3, nil), strict); run.EndedAt != nil || run.Problem != "" {
			t.Errorf("%q has ended: %+v", phase, run)
		}
	}
}

func TestTheHistoryIsSortedByItsStarts(t *testing.T) {
	under := backuptest.BackupAt(0, "New", 0, map[string]any{"startTimestamp": nil, "completionTimestamp": nil})
	list := []*unstructured.Unstructured{
		backuptest.BackupAt(7, "Completed", 3, nil), backuptest.BackupAt(1, "Failed", 0, nil), under, backuptest.BackupAt(5, "Completed", 3, nil), backuptest.BackupAt(30, "Completed", 3, nil),
	}
	h := history.Of(list, history.Standard{})
	var names []string
	for _, run := range h.Runs {
		names = append(names, run.Name)
	}
	if want := []string{"nightly-00", "nightly-01", "nightly-05", "nightly-07", "nightly-30"}; !slices.Equal(names, want) {
		t.Errorf("%v, not %v", names, want)
	}
	if h.Ended.Name != "nightly-01" || h.Good.Name != "nightly-05" {
		t.Errorf("ended last %s, last good %s", h.Ended.Name, h.Good.Name)
	}
}

// TestALyingClusterFillsNoStatus has a cluster answer with what Velero never writes.
func TestALyingClusterFillsNoStatus(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	noBackup := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "odd"}, "status": "good"}}
	nameless := &unstructured.Unstructured{Object: map[string]any{}}
	longName := backuptest.BackupAt(1, "Completed", 1, nil)
	longName.SetName(long)
	endless := backuptest.BackupAt(2, "Failed", -5, map[string]any{"failureReason": long, "errors": int64(-1)})
	phase := backuptest.BackupAt(3, long, 1, nil)
	h := history.Of([]*unstructured.Unstructured{noBackup, nameless, longName, endless, phase}, history.Standard{})
	if len(h.Runs) != 2 || h.Good != nil {
		t.Fatalf("taken for backups: %+v", h.Runs)
	}
	for _, run := range h.Runs {
		if len([]rune(run.Problem)) > 512 || len([]rune(run.Phase)) > 64 || run.Items < 0 || run.Errors < 0 {
			t.Errorf("more than the API has room for: %d %d %d %d", len(run.Problem), len(run.Phase), run.Items, run.Errors)
		}
	}
}

func TestWhatIsNoBackupIsPassedOverWhereverItStands(t *testing.T) {
	list := []*unstructured.Unstructured{backuptest.BackupAt(1, "InProgress", 0, nil), backuptest.BackupAt(3, "Failed", 0, nil), backuptest.BackupAt(5, "Completed", 7, nil)}
	for _, hours := range []int{0, 2, 4, 6} {
		broken := backuptest.BackupAt(hours, "Completed", 9, map[string]any{"errors": "many"})
		list = append(list, broken)
	}
	h := history.Of(list, history.Standard{})
	if len(h.Runs) != 3 || h.Ended == nil || h.Ended.Phase != "Failed" || h.Good == nil || h.Good.Items != 7 {
		t.Errorf("got %+v", h)
	}
}

func BenchmarkHistoryOfFourHundredBackups(b *testing.B) {
	var list []*unstructured.Unstructured
	for hours := range 400 {
		list = append(list, backuptest.BackupAt(hours, "Completed", 7, nil))
	}
	for b.Loop() {
		if h := history.Of(list, history.Standard{}); h.Good == nil {
			b.Fatal("there is no good one")
		}
	}
}

// Velero gives a backup that it refuses no start, and keeps it for as long as others.
func TestABackupThatWasRefusedIsNoLaterThanThoseAfterIt(t *testing.T) {
	refused := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "refused", "creationTimestamp": backuptest.Noon.Add(-3 * time.Hour).Format(time.RFC3339)},
		"status":   map[string]any{"phase": "FailedValidation", "validationErrors": []any{"the storage is unavailable"}},
	}}
	told := history.Of([]*unstructured.Unstructured{refused, backuptest.BackupAt(2, "Completed", 3, nil), backuptest.BackupAt(4, "Completed", 3, nil)}, history.Standard{})
	if told.Ended == nil || told.Ended.Problem != "" || told.Runs[1].Name != "refused" {
		t.Errorf("the last backup that ended is %+v of %+v", told.Ended, told.Runs)
	}
}

func TestVolumesMakeAGoodBackup(t *testing.T) {
	for name, row := range map[string]struct {
		details history.Details
		problem string
		unread  bool
	}{
		"all are in it":           {backuptest.WithVolumes(2, 2), "", false},
		"there are none":          {backuptest.WithVolumes(0, 0), "", false},
		"one is not":              {backuptest.WithVolumes(1, 2), "volume shop/data was not backed up: no driver", false},
		"several are not":         {backuptest.WithVolumes(1, 4), "volume shop/data was not backed up: no driver; nor were 2 more", false},
		"nobody wrote which":      {history.Details{Read: true}, "the bucket does not tell which volumes it has", false},
		"nobody read it yet":      {history.Details{}, "", true},
		"it cannot be read":       {history.Details{Problem: "no answer"}, "", true},
		"none of them is named":   {history.Details{Read: true, Volumes: &backupv1alpha1.BackupVolumes{Total: ptr.To[int32](2), Covered: ptr.To[int32](0)}}, "2 volumes were not backed up", false},
		"more have it than there": {history.Details{Read: true, Volumes: &backupv1alpha1.BackupVolumes{Total: ptr.To[int32](1), Covered: ptr.To[int32](2)}}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			backup, known := backuptest.BackupAt(1, "Completed", 3, nil), history.AllDetails{backuptest.IDAt(1): row.details}
			strict := history.Standard{RequireVolumes: true, Details: known}
			run, _ := history.RunOf(backup, strict)
			if run.Problem != row.problem && (row.problem == "" || !strings.Contains(run.Problem, row.problem)) || strict.IsUnread(run) != row.unread {
				t.Errorf("the problem is %q, unread %t", run.Problem, strict.IsUnread(run))
			}
			if strict.IsGood(run) != (row.problem == "" && !row.unread) {
				t.Errorf("is it good: %t", strict.IsGood(run))
			}
			if lenient := (history.Standard{Details: known}); !lenient.IsGood(first(history.RunOf(backup, lenient))) {
				t.Error("it is not a good one, though nobody asks for volumes")
			}
		})
	}
}

func first[A, B any](a A, _ B) A { return a }

func TestAPartialFailureNamesItsFirstError(t *testing.T) {
	backup := backuptest.BackupAt(1, "PartiallyFailed", 3, map[string]any{"errors": int64(2)})
	for want, problems := range map[string][]string{
		"2 errors, the first in shop: no such pod":    {"shop: no such pod", "cluster: odd"},
		"2 errors; see velero backup logs nightly-01": {"warning: shop: slow"},
	} {
		run, _ := history.RunOf(backup, history.Standard{Details: history.AllDetails{backuptest.IDAt(1): {Read: true, Problems: problems}}})
		if run.Problem != want || !slices.Equal(run.Problems, problems) {
			t.Errorf("got %q", run.Problem)
		}
	}
}

func TestABackupThatIsNotReadIsNeitherGoodNorBad(t *testing.T) {
	list := []*unstructured.Unstructured{backuptest.BackupAt(1, "Completed", 3, nil), backuptest.BackupAt(5, "Completed", 3, nil), backuptest.BackupAt(7, "Completed", 3, nil)}
	known := history.AllDetails{backuptest.IDAt(5): backuptest.WithVolumes(0, 1), backuptest.IDAt(7): backuptest.WithVolumes(1, 1)}
	h := history.Of(list, history.Standard{RequireVolumes: true, Details: known})
	if h.Unread == nil || h.Unread.Name != "nightly-01" || h.Ended.Name != "nightly-05" || h.Good.Name != "nightly-07" || h.IsUnread() {
		t.Errorf("got %+v", h)
	}
	known[backuptest.IDAt(1)] = history.Details{Problem: "no answer"}
	h = history.Of(list, history.Standard{RequireVolumes: true, Details: known})
	if !h.IsUnread() || h.Unread.Name != "nightly-01" || h.Unread.DetailsProblem != "no answer" {
		t.Errorf("what cannot be read is %+v", h.Unread)
	}
	delete(known, backuptest.IDAt(7))
	if h = history.Of(list, history.Standard{RequireVolumes: true, Details: known, Recorded: backuptest.IDAt(7)}); h.Good == nil || h.Good.Name != "nightly-07" {
		t.Errorf("the last good one from before is %+v", h.Good)
	}
}
