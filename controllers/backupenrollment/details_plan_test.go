package backupenrollment

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
)

// idAt is the ID of the backup that started so many hours before noon.
func idAt(hoursAgo int) backupID {
	run, _ := runOf(backupAt(hoursAgo, "Completed", 3, nil), standard{})
	return idOfRun(run)
}

// withVolumes are details of a backup that has the data of some volumes of all.
func withVolumes(covered, total int32) details {
	volumes := &backupv1alpha1.BackupVolumes{Total: &total, Covered: &covered}
	if covered < total {
		volumes.Uncovered = []backupv1alpha1.UncoveredVolume{{Name: "shop/data", Reason: "no driver"}}
	}
	return details{read: true, bytes: ptr.To[int64](1000), volumes: volumes}
}

func TestVolumesMakeAGoodBackup(t *testing.T) {
	for name, row := range map[string]struct {
		details details
		problem string
		unread  bool
	}{
		"all are in it":           {withVolumes(2, 2), "", false},
		"there are none":          {withVolumes(0, 0), "", false},
		"one is not":              {withVolumes(1, 2), "volume shop/data was not backed up: no driver", false},
		"several are not":         {withVolumes(1, 4), "volume shop/data was not backed up: no driver; nor were 2 more", false},
		"nobody wrote which":      {details{read: true}, "the bucket does not tell which volumes it has", false},
		"nobody read it yet":      {details{}, "", true},
		"it cannot be read":       {details{problem: "no answer"}, "", true},
		"none of them is named":   {details{read: true, volumes: &backupv1alpha1.BackupVolumes{Total: ptr.To[int32](2), Covered: ptr.To[int32](0)}}, "2 volumes were not backed up", false},
		"more have it than there": {details{read: true, volumes: &backupv1alpha1.BackupVolumes{Total: ptr.To[int32](1), Covered: ptr.To[int32](2)}}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			backup, known := backupAt(1, "Completed", 3, nil), allDetails{idAt(1): row.details}
			strict := standard{requireVolumes: true, details: known}
			run, _ := runOf(backup, strict)
			if run.Problem != row.problem && (row.problem == "" || !strings.Contains(run.Problem, row.problem)) || strict.isUnread(run) != row.unread {
				t.Errorf("the problem is %q, unread %t", run.Problem, strict.isUnread(run))
			}
			if strict.isGood(run) != (row.problem == "" && !row.unread) {
				t.Errorf("is it good: %t", strict.isGood(run))
			}
			if lenient := (standard{details: known}); !lenient.isGood(first(runOf(backup, lenient))) {
				t.Error("it is not a good one, though nobody asks for volumes")
			}
		})
	}
}

func first[A, B any](a A, _ B) A { return a }

func TestAPartialFailureNamesItsFirstError(t *testing.T) {
	backup := backupAt(1, "PartiallyFailed", 3, map[string]any{"errors": int64(2)})
	for want, problems := range map[string][]string{
		"2 errors, the first in shop: no such pod":    {"shop: no such pod", "cluster: odd"},
		"2 errors; see velero backup logs nightly-01": {"warning: shop: slow"},
	} {
		run, _ := runOf(backup, standard{details: allDetails{idAt(1): {read: true, problems: problems}}})
		if run.Problem != want || !slices.Equal(run.Problems, problems) {
			t.Errorf("got %q", run.Problem)
		}
	}
}

func TestABackupThatIsNotReadIsNeitherGoodNorBad(t *testing.T) {
	list := []*unstructured.Unstructured{backupAt(1, "Completed", 3, nil), backupAt(5, "Completed", 3, nil), backupAt(7, "Completed", 3, nil)}
	known := allDetails{idAt(5): withVolumes(0, 1), idAt(7): withVolumes(1, 1)}
	h := historyOf(list, standard{requireVolumes: true, details: known})
	if h.unread == nil || h.unread.Name != "nightly-01" || h.ended.Name != "nightly-05" || h.good.Name != "nightly-07" || h.isUnread() {
		t.Errorf("got %+v", h)
	}
	known[idAt(1)] = details{problem: "no answer"}
	h = historyOf(list, standard{requireVolumes: true, details: known})
	if f := backupsFinding(h, false); f.reason != backupv1alpha1.ReasonDetailsUnknown || !strings.Contains(f.message, "nightly-01") || !strings.Contains(f.message, "no answer") {
		t.Errorf("told is %+v", f)
	}
	delete(known, idAt(7))
	if h = historyOf(list, standard{requireVolumes: true, details: known, recorded: idAt(7)}); h.good == nil || h.good.Name != "nightly-07" {
		t.Errorf("the last good one from before is %+v", h.good)
	}
}

func TestTheLastGoodBackupStaysWhateverIsNotRead(t *testing.T) {
	all := []*unstructured.Unstructured{storedAt(50, "Completed"), storedAt(51, "Completed"), storedAt(52, "Completed"), storedAt(53, "Completed")}
	for name, row := range map[string]struct {
		keepLast  int32
		known     allDetails
		due, kept []string
	}{
		"the newest is not read":      {1, allDetails{idAt(51): withVolumes(1, 1)}, []string{"nightly-53", "nightly-52"}, []string{"nightly-51"}},
		"it turns out to be good":     {1, allDetails{idAt(50): withVolumes(1, 1), idAt(51): withVolumes(1, 1)}, []string{"nightly-53", "nightly-52", "nightly-51"}, []string{"nightly-50"}},
		"it turns out to be bad":      {1, allDetails{idAt(50): withVolumes(0, 1), idAt(51): withVolumes(1, 1)}, []string{"nightly-53", "nightly-52", "nightly-50"}, []string{"nightly-51"}},
		"the good one is far away":    {1, allDetails{idAt(50): withVolumes(0, 1), idAt(53): withVolumes(1, 1)}, []string{"nightly-52", "nightly-50"}, []string{"nightly-53"}},
		"none is read":                {1, nil, []string{"nightly-53", "nightly-52", "nightly-51"}, nil},
		"several are kept":            {3, allDetails{idAt(50): withVolumes(1, 1)}, []string{"nightly-53"}, []string{"nightly-50"}},
		"several, of which one's bad": {2, allDetails{idAt(51): withVolumes(0, 1), idAt(53): withVolumes(1, 1)}, []string{"nightly-51"}, []string{"nightly-53"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := stored{
				own: kept(48*time.Hour, row.keepLast), backups: all, standard: standard{requireVolumes: true, details: row.known}, now: noon,
			}.planRetention()
			if names := namesOf(got.due); !slices.Equal(names, row.due) {
				t.Errorf("%v go, not %v", names, row.due)
			}
			if names := slices.Sorted(maps.Keys(got.kept)); !slices.Equal(names, row.kept) {
				t.Errorf("%v are kept, not %v", names, row.kept)
			}
		})
	}
}

func TestAStartIsNotCaughtUpBeforeItsBackupIsRead(t *testing.T) {
	for name, row := range map[string]struct {
		known allDetails
		owed  bool
	}{"unread": {}, "bad": {allDetails{idAt(2): withVolumes(0, 1)}, true}, "good": {allDetails{idAt(2): withVolumes(1, 1)}, false}} {
		o := missing()
		o.Target.Spec.RequireVolumes, o.Extra.reading.known = true, row.known
		o.Extra.velero.backups.Objects = []*unstructured.Unstructured{backupAt(2, "Completed", 3, nil)}
		known, ok := startsOf(o)
		if got, _ := known.owed(noon); !ok || (got != nil) != row.owed {
			t.Errorf("%s: got %+v, %t", name, got, ok)
		}
	}
}

func TestWhichDetailsAreRead(t *testing.T) {
	var many []*unstructured.Unstructured
	for hour := 1; hour <= 12; hour++ {
		many = append(many, backupAt(hour, "Completed", 3, nil))
	}
	failing := background.Progress[allDetails]{Err: errors.New("no credentials"), Again: noon.Add(time.Minute)}
	for name, row := range map[string]struct {
		backups  []*unstructured.Unstructured
		recorded []backupv1alpha1.BackupRun
		progress background.Progress[allDetails]
		// due are hours before noon.
		due     []int
		problem string
		again   bool
	}{
		"the last ten":                     {backups: many, due: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		"those that have ended well":       {backups: []*unstructured.Unstructured{backupAt(1, "InProgress", 3, nil), backupAt(2, "Failed", 3, nil), backupAt(3, "PartiallyFailed", 3, nil), backupAt(4, "Deleting", 3, nil)}, due: []int{3}},
		"the last good one":                {backups: append(failed(10), many[11]), due: []int{12}},
		"none that is on record":           {backups: many[:2], recorded: []backupv1alpha1.BackupRun{readRun(1)}, due: []int{2}},
		"none while others are being read": {backups: many[:2], progress: background.Progress[allDetails]{Running: true}},
		"none before the next try":         {backups: many[:1], progress: failing, problem: "no credentials", again: true},
		"what failed, in time":             {backups: many[:1], progress: background.Progress[allDetails]{Err: failing.Err, Again: noon}, due: []int{1}, problem: "no credentials"},
		"what failed, with what it says":   {backups: many[:1], progress: background.Progress[allDetails]{Err: failing.Err, Again: noon, Result: allDetails{idAt(1): {problem: "too large"}}}, due: []int{1}, problem: "too large"},
		"nothing that was read":            {backups: many[:1], progress: background.Progress[allDetails]{Done: true, Result: allDetails{idAt(1): withVolumes(1, 1)}}},
	} {
		t.Run(name, func(t *testing.T) {
			o := enrolled(shown(nil, row.backups...), 0)
			o.Status.Runs = row.recorded
			got := planReading(o, row.progress)
			var want []backupID
			for _, hour := range row.due {
				want = append(want, idAt(hour))
			}
			if !slices.Equal(got.due, want) || got.again.IsZero() == row.again {
				t.Errorf("to be read are %v, again at %s", got.due, got.again)
			}
			if told := got.known[idAt(1)].problem; told != row.problem {
				t.Errorf("the problem is %q", told)
			}
		})
	}
}

// failed are so many backups that failed, the latest ones.
func failed(count int) (list []*unstructured.Unstructured) {
	for hour := 1; hour <= count; hour++ {
		list = append(list, backupAt(hour, "Failed", 3, nil))
	}
	return list
}

// readRun is a backup on record the details of which were read.
func readRun(hoursAgo int) backupv1alpha1.BackupRun {
	run, _ := runOf(backupAt(hoursAgo, "Completed", 3, nil), standard{details: allDetails{idAt(hoursAgo): withVolumes(1, 1)}})
	return run
}

func TestDetailsSurviveARestart(t *testing.T) {
	run := readRun(1)
	if !run.DetailsRead || *run.Bytes != 1000 || *run.Volumes.Total != 1 {
		t.Fatalf("recorded is %+v", run)
	}
	o := enrolled(shown(nil, backupAt(1, "Completed", 3, nil)), 0)
	o.Status.LastSuccessful = &run
	got := planReading(o, background.Progress[allDetails]{})
	again, _ := runOf(backupAt(1, "Completed", 3, nil), standardOf(o, got.known))
	if len(got.unread) > 0 || *again.Bytes != 1000 || *again.Volumes.Covered != 1 {
		t.Errorf("got %+v, %+v", got, again)
	}
}

func TestAnotherBackupOfTheSameNameIsReadAnew(t *testing.T) {
	recorded := readRun(1)
	recorded.StartedAt.Time = recorded.StartedAt.Add(-time.Hour)
	o := enrolled(shown(nil, backupAt(1, "Completed", 3, nil)), 0)
	o.Status.Runs = []backupv1alpha1.BackupRun{recorded}
	if got := planReading(o, background.Progress[allDetails]{}); !slices.Equal(got.due, []backupID{idAt(1)}) {
		t.Errorf("to be read are %v", got.due)
	}
}

func TestARequestEndsWhenItsBackupIsRead(t *testing.T) {
	backup := backupAt(1, "Completed", 3, nil)
	for outcome, known := range map[string]allDetails{
		"": nil, "Succeeded": {idAt(1): withVolumes(1, 1)}, "Failed": {idAt(1): withVolumes(0, 1)},
	} {
		if got := decide(standard{requireVolumes: true, details: known})(backup); string(got.Outcome) != outcome || got.Message == "" {
			t.Errorf("got %+v, not %q", got, outcome)
		}
	}
}
