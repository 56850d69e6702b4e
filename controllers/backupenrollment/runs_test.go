package backupenrollment

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var noon = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

// backupAt is a Backup as Velero writes it, which started so many hours before noon.
func backupAt(hoursAgo int, phase string, items int64, more map[string]any) *unstructured.Unstructured {
	start := noon.Add(-time.Duration(hoursAgo) * time.Hour)
	status := map[string]any{
		"phase": phase, "startTimestamp": start.Format(time.RFC3339), "completionTimestamp": start.Add(time.Minute).Format(time.RFC3339),
		"progress": map[string]any{"itemsBackedUp": items, "totalItems": items},
	}
	for key, value := range more {
		status[key] = value
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": fmt.Sprintf("nightly-%02d", hoursAgo)}, "status": status,
	}}
}

func TestWhatMakesAGoodBackup(t *testing.T) {
	strict := standard{minItems: 1}
	for name, test := range map[string]struct {
		backup *unstructured.Unstructured
		standard
		problem string
	}{
		"complete":                      {backupAt(1, "Completed", 3, nil), strict, ""},
		"empty":                         {backupAt(1, "Completed", 0, nil), strict, "spec.minItems asks for 1"},
		"empty, which is allowed":       {backupAt(1, "Completed", 0, nil), standard{}, ""},
		"partial":                       {backupAt(1, "PartiallyFailed", 3, map[string]any{"errors": int64(2)}), strict, "2 errors; see velero backup logs nightly-01"},
		"partial, which is allowed":     {backupAt(1, "PartiallyFailed", 3, nil), standard{acceptPartiallyFailed: true}, ""},
		"failed":                        {backupAt(1, "Failed", 3, map[string]any{"failureReason": "no room"}), strict, "no room"},
		"failed for no reason":          {backupAt(1, "Failed", 3, nil), standard{acceptPartiallyFailed: true}, "Velero gives no reason"},
		"refused":                       {backupAt(1, "FailedValidation", 0, map[string]any{"validationErrors": []any{"no location"}}), strict, "Velero refused it: no location"},
		"being deleted":                 {backupAt(1, "Deleting", 3, nil), strict, "it is being deleted"},
		"complete without having begun": {backupAt(1, "Completed", 3, map[string]any{"startTimestamp": nil}), strict, "does not say when it started"},
	} {
		run, ok := runOf(test.backup, test.standard)
		if !ok || run.EndedAt == nil || !strings.Contains(run.Problem, test.problem) || (test.problem == "") != (run.Problem == "") {
			t.Errorf("%s: %+v, want the problem %q", name, run, test.problem)
		}
	}
	for _, phase := range []string{"", "New", "Queued", "ReadyToStart", "InProgress", "WaitingForPluginOperations", "Finalizing", "FinalizingPartiallyFailed"} {
		if run, _ := runOf(backupAt(1, phase, 3, nil), strict); run.EndedAt != nil || run.Problem != "" {
			t.Errorf("%q has ended: %+v", phase, run)
		}
	}
}

func TestTheHistoryIsSortedByItsStarts(t *testing.T) {
	under := backupAt(0, "New", 0, map[string]any{"startTimestamp": nil, "completionTimestamp": nil})
	list := []*unstructured.Unstructured{
		backupAt(7, "Completed", 3, nil), backupAt(1, "Failed", 0, nil), under, backupAt(5, "Completed", 3, nil), backupAt(30, "Completed", 3, nil),
	}
	h := historyOf(list, standard{})
	var names []string
	for _, run := range h.runs {
		names = append(names, run.Name)
	}
	if want := []string{"nightly-00", "nightly-01", "nightly-05", "nightly-07", "nightly-30"}; !slices.Equal(names, want) {
		t.Errorf("%v, not %v", names, want)
	}
	if h.ended.Name != "nightly-01" || h.good.Name != "nightly-05" {
		t.Errorf("ended last %s, last good %s", h.ended.Name, h.good.Name)
	}
}

// TestALyingClusterFillsNoStatus has a cluster answer with what Velero never writes.
func TestALyingClusterFillsNoStatus(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	noBackup := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "odd"}, "status": "good"}}
	nameless := &unstructured.Unstructured{Object: map[string]any{}}
	longName := backupAt(1, "Completed", 1, nil)
	longName.SetName(long)
	endless := backupAt(2, "Failed", -5, map[string]any{"failureReason": long, "errors": int64(-1)})
	phase := backupAt(3, long, 1, nil)
	h := historyOf([]*unstructured.Unstructured{noBackup, nameless, longName, endless, phase}, standard{})
	if len(h.runs) != 2 || h.good != nil {
		t.Fatalf("taken for backups: %+v", h.runs)
	}
	for _, run := range h.runs {
		if len([]rune(run.Problem)) > 512 || len([]rune(run.Phase)) > 64 || run.Items < 0 || run.Errors < 0 {
			t.Errorf("more than the API has room for: %d %d %d %d", len(run.Problem), len(run.Phase), run.Items, run.Errors)
		}
	}
}

func TestWhatIsNoBackupIsPassedOverWhereverItStands(t *testing.T) {
	list := []*unstructured.Unstructured{backupAt(1, "InProgress", 0, nil), backupAt(3, "Failed", 0, nil), backupAt(5, "Completed", 7, nil)}
	for _, hours := range []int{0, 2, 4, 6} {
		broken := backupAt(hours, "Completed", 9, map[string]any{"errors": "many"})
		list = append(list, broken)
	}
	h := historyOf(list, standard{})
	if len(h.runs) != 3 || h.ended == nil || h.ended.Phase != "Failed" || h.good == nil || h.good.Items != 7 {
		t.Errorf("got %+v", h)
	}
}

func BenchmarkHistoryOfFourHundredBackups(b *testing.B) {
	var list []*unstructured.Unstructured
	for hours := range 400 {
		list = append(list, backupAt(hours, "Completed", 7, nil))
	}
	for b.Loop() {
		if h := historyOf(list, standard{}); h.good == nil {
			b.Fatal("there is no good one")
		}
	}
}

// Velero gives a backup that it refuses no start, and keeps it for as long as others.
func TestABackupThatWasRefusedIsNoLaterThanThoseAfterIt(t *testing.T) {
	refused := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "refused", "creationTimestamp": noon.Add(-3 * time.Hour).Format(time.RFC3339)},
		"status":   map[string]any{"phase": "FailedValidation", "validationErrors": []any{"the storage is unavailable"}},
	}}
	told := historyOf([]*unstructured.Unstructured{refused, backupAt(2, "Completed", 3, nil), backupAt(4, "Completed", 3, nil)}, standard{})
	if told.ended == nil || told.ended.Problem != "" || told.runs[1].Name != "refused" {
		t.Errorf("the last backup that ended is %+v of %+v", told.ended, told.runs)
	}
}
