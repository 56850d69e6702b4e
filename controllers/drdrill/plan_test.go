package drdrill

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/run"
)

// rehearsal is a drill of one namespace that has come so far: its tasks and actions succeeded in their order.
func rehearsal(mode backupv1alpha1.DrillMode, steps int) *backupv1alpha1.DRDrill {
	at := metav1.NewTime(noon)
	drill := &backupv1alpha1.DRDrill{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "weekly", UID: "u"}}
	drill.Spec = backupv1alpha1.DRDrillSpec{
		PolicyName: "nightly", ClusterRef: metav1alpha1.ClusterReference{Namespace: "acme", Name: "prod"},
		DrillScope: backupv1alpha1.DrillScope{
			Target:         backupv1alpha1.DrillTarget{Mode: mode, StandbyName: "spare"},
			RestoreTimeout: &metav1.Duration{Duration: time.Hour}, Verify: backupv1alpha1.DrillVerification{ReadinessTimeout: &metav1.Duration{Duration: time.Minute}},
		},
	}
	status := &drill.Status
	status.StartedAt = &at
	for range steps {
		move := new(Reconciler).Next(view{Run: drill, Now: noon})
		switch {
		case move.Task != nil:
			status.Tasks = append(status.Tasks, metav1alpha1.RunTask{Name: move.Task.Name, Outcome: metav1alpha1.ActionSucceeded, StartedAt: at, EndedAt: &at})
			if move.Task.Name == taskChoose {
				status.Source = &backupv1alpha1.DrillSource{Backup: "nightly-1", VeleroNamespace: "velero"}
				status.Namespaces = []backupv1alpha1.DrillNamespace{{Name: "shop", RestoredAs: "shop-drill"}}
				status.DataAge = &metav1.Duration{Duration: time.Hour}
			}
		case move.Begin != nil:
			status.Actions = append(status.Actions, metav1alpha1.Action{
				Name: move.Begin.Action, Object: "v1/ConfigMap/velero/" + move.Begin.Action, UID: "made", Outcome: metav1alpha1.ActionSucceeded, StartedAt: at, EndedAt: &at,
			})
		}
	}
	return drill
}

func TestStepsOfADrill(t *testing.T) {
	for mode, want := range map[backupv1alpha1.DrillMode]string{
		backupv1alpha1.DrillNamespaceMapped: "task choose-backup; modifiers in acme/prod; namespace-0 in acme/prod; quota-0 in acme/prod; network-0 in acme/prod; restore in acme/prod; task verify",
		backupv1alpha1.DrillStandby: "task choose-backup; credentials in acme/spare; location in acme/spare; backup in acme/spare; modifiers in acme/spare; " +
			"namespace-0 in acme/spare; quota-0 in acme/spare; network-0 in acme/spare; restore in acme/spare; task verify",
		backupv1alpha1.DrillEphemeral: "task choose-backup; task order-cluster; credentials in acme/own; location in acme/own; backup in acme/own; modifiers in acme/own; " +
			"namespace-0 in acme/own; quota-0 in acme/own; network-0 in acme/own; restore in acme/own; task verify",
	} {
		var steps []string
		for i := range strings.Count(want, ";") + 1 {
			switch move := new(Reconciler).Next(view{Run: rehearsal(mode, i), Now: noon}); {
			case move.Task != nil:
				steps = append(steps, "task "+move.Task.Name)
			case move.Begin != nil:
				steps = append(steps, fmt.Sprintf("%s in %s", move.Begin.Action, move.Begin.Cluster))
			}
		}
		got := strings.ReplaceAll(strings.Join(steps, "; "), ephemeralName(rehearsal(mode, 0)), "own")
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", mode, got, want)
		}
	}
}

// concluded carries out the record of a move.
func concluded(t *testing.T, drill *backupv1alpha1.DRDrill, now time.Time) *backupv1alpha1.DRDrill {
	t.Helper()
	away := map[types.NamespacedName]string{targetKey(drill): "no answer"}
	move := new(Reconciler).Next(run.NewView(drill, now, nil, away))
	if move.Record == nil {
		t.Fatalf("nothing is concluded: %+v", move)
	}
	drill = drill.DeepCopy()
	move.Record(drill)
	return drill
}

func TestVerdicts(t *testing.T) {
	const all = 7 // Steps of a drill beside what was backed up.
	passed := func(*backupv1alpha1.DRDrill) {}
	fail := func(action string, uid string, outcome metav1alpha1.ActionOutcome, message string) func(*backupv1alpha1.DRDrill) {
		return func(drill *backupv1alpha1.DRDrill) {
			record := drill.Status.Action(action)
			record.UID, record.Outcome, record.Message = uid, outcome, message
		}
	}
	failTask := func(name string, outcome metav1alpha1.ActionOutcome, message string) func(*backupv1alpha1.DRDrill) {
		return func(drill *backupv1alpha1.DRDrill) {
			record := drill.Status.Task(name)
			record.Outcome, record.Message = outcome, message
		}
	}
	checked := func(name string, result backupv1alpha1.CheckResult) func(*backupv1alpha1.DRDrill) {
		return func(drill *backupv1alpha1.DRDrill) {
			drill.Status.Checks = append(drill.Status.Checks, check(name, result, "as told"))
		}
	}
	objective := func(rpo, rto time.Duration) func(*backupv1alpha1.DRDrill) {
		return func(drill *backupv1alpha1.DRDrill) {
			drill.Status.Objectives = backupv1alpha1.RecoveryObjectives{RPO: &metav1.Duration{Duration: rpo}, RTO: &metav1.Duration{Duration: rto}}
		}
	}
	for name, row := range map[string]struct {
		steps   int
		change  func(*backupv1alpha1.DRDrill)
		verdict backupv1alpha1.DrillVerdict
		message string
	}{
		"there is no good backup":         {1, failTask(taskChoose, metav1alpha1.ActionFailed, "none can be restored"), backupv1alpha1.DrillFailed, "Failed: Backup: none can be restored"},
		"the bucket does not answer":      {1, failTask(taskChoose, metav1alpha1.ActionTimedOut, "no answer"), backupv1alpha1.DrillInconclusive, "Inconclusive: Backup: no answer"},
		"a namespace cannot be made":      {3, fail("namespace-0", "", metav1alpha1.ActionFailed, "forbidden"), backupv1alpha1.DrillInconclusive, "Inconclusive: Restore: namespace-0 could not be prepared: forbidden"},
		"Velero does not restore":         {6, fail(actionRestore, "made", metav1alpha1.ActionFailed, "PartiallyFailed with 1 errors"), "", ""},
		"the Restore cannot be made":      {6, fail(actionRestore, "", metav1alpha1.ActionTimedOut, "no answer"), backupv1alpha1.DrillInconclusive, "Inconclusive: Restore: Velero did not begin: no answer"},
		"the archive is damaged by then":  {all, failTask(taskVerify, metav1alpha1.ActionFailed, "damaged"), backupv1alpha1.DrillFailed, "Failed: Completeness: damaged"},
		"what came of it cannot be read":  {all, failTask(taskVerify, metav1alpha1.ActionTimedOut, "no answer"), backupv1alpha1.DrillInconclusive, "Inconclusive: Completeness: no answer"},
		"an object is missing":            {all, checked(backupv1alpha1.CheckCompleteness, backupv1alpha1.CheckFailed), backupv1alpha1.DrillFailed, "Failed: Completeness: as told"},
		"the content of volumes is open":  {all, checked(backupv1alpha1.CheckVolumes, backupv1alpha1.CheckNotChecked), backupv1alpha1.DrillInconclusive, "Inconclusive: Volumes: as told"},
		"the data is too old":             {all, objective(time.Minute, time.Hour), backupv1alpha1.DrillFailed, "Failed: RPO: the data is 1h0m0s old; the objective is 1m0s"},
		"it took too long":                {all, objective(2*time.Hour, time.Second), backupv1alpha1.DrillFailed, "Failed: RTO: the recovery is 1m0s long; the objective is 1s"},
		"it could not be seen what works": {all, passed, backupv1alpha1.DrillInconclusive, "Inconclusive: Readiness: Deployments: no answer, "},
	} {
		t.Run(name, func(t *testing.T) {
			drill := rehearsal(backupv1alpha1.DrillNamespaceMapped, row.steps)
			row.change(drill)
			if row.verdict == "" { // What was restored is looked at all the same.
				if move := new(Reconciler).Next(view{Run: drill, Now: noon}); move.Task == nil || move.Task.Name != taskVerify {
					t.Errorf("next is %+v", move)
				}
				return
			}
			drill = concluded(t, drill, noon.Add(time.Minute))
			if next := new(Reconciler).Next(view{Run: drill, Now: noon}); next.Task == nil || next.Task.Name != taskEvidence {
				t.Errorf("after the verdict comes %+v", next)
			}
			drill.Status.Tasks = append(drill.Status.Tasks, metav1alpha1.RunTask{Name: taskEvidence, Outcome: metav1alpha1.ActionSucceeded})
			move := new(Reconciler).Next(view{Run: drill, Now: noon})
			if drill.Status.Verdict != row.verdict || move.Outcome != metav1alpha1.RunFailed || !strings.HasPrefix(move.Message, row.message) {
				t.Errorf("%s: %+v; want %s: %s", drill.Status.Verdict, move, row.verdict, row.message)
			}
		})
	}
}

func TestADrillPassesOnlyIfEveryCheckDid(t *testing.T) {
	one := func(result backupv1alpha1.CheckResult) backupv1alpha1.DrillCheck { return check("x", result, "") }
	for want, checks := range map[backupv1alpha1.DrillVerdict][]backupv1alpha1.DrillCheck{
		backupv1alpha1.DrillPassed:       {one(backupv1alpha1.CheckPassed), one(backupv1alpha1.CheckPassed)},
		backupv1alpha1.DrillInconclusive: {one(backupv1alpha1.CheckPassed), one(backupv1alpha1.CheckNotChecked)},
		backupv1alpha1.DrillFailed:       {one(backupv1alpha1.CheckNotChecked), one(backupv1alpha1.CheckFailed), one(backupv1alpha1.CheckPassed)},
	} {
		if got := verdictOf(checks); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestWhatBecomesOfTheObjectsOfADrill(t *testing.T) {
	of := func(kind schema.GroupVersionKind) metav1alpha1.Action {
		return metav1alpha1.Action{Object: kind.GroupVersion().String() + "/" + kind.Kind + "/velero/x"}
	}
	for name, row := range map[string]struct {
		kind   schema.GroupVersionKind
		status map[string]any
		want   string
	}{
		"a namespace is there":             {namespaceKind, nil, "Succeeded "},
		"a quota is not in force":          {quotaKind, nil, " waits for the cluster to put the quota in force"},
		"a quota is in force":              {quotaKind, map[string]any{"hard": map[string]any{"pods": "500"}}, "Succeeded "},
		"storage is not looked at":         {locationKind, nil, " Velero has not found the storage available"},
		"storage cannot be used":           {locationKind, map[string]any{"phase": "Unavailable", "message": "denied"}, " Velero has not found the storage available: denied"},
		"storage can be used":              {locationKind, map[string]any{"phase": "Available"}, "Succeeded "},
		"a restore waits":                  {restoreKind, nil, " waits for Velero"},
		"a restore is under way":           {restoreKind, map[string]any{"phase": "InProgress"}, " InProgress"},
		"a restore is complete":            {restoreKind, map[string]any{"phase": "Completed"}, "Succeeded "},
		"a restore failed in part":         {restoreKind, map[string]any{"phase": "PartiallyFailed", "errors": int64(2)}, "Failed PartiallyFailed with 2 errors"},
		"a restore failed":                 {restoreKind, map[string]any{"phase": "Failed", "failureReason": "no archive"}, "Failed Failed: no archive"},
		"a restore is refused":             {restoreKind, map[string]any{"phase": "FailedValidation", "validationErrors": []any{"no backup"}}, "Failed Velero refused the restore: no backup"},
		"a restore in a phase of tomorrow": {restoreKind, map[string]any{"phase": "Cleaning"}, " Cleaning"},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: map[string]any{"status": row.status}}
			verdict := new(Reconciler).Decide(nil, of(row.kind), object)
			if got := string(verdict.Outcome) + " " + verdict.Message; got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestADrillThatCouldNotStartInTimeIsSkipped(t *testing.T) {
	for want, by := range map[backupv1alpha1.DrillVerdict]*metav1.Time{
		backupv1alpha1.DrillCancelled: nil, backupv1alpha1.DrillSkipped: {Time: noon.Add(-time.Hour)},
	} {
		drill := &backupv1alpha1.DRDrill{Spec: backupv1alpha1.DRDrillSpec{RunSpec: metav1alpha1.RunSpec{StartBy: by}}}
		drill.Status.Outcome, drill.Status.StartedAt = metav1alpha1.RunCancelled, &metav1.Time{Time: noon}
		if new(Reconciler).Conclude(drill); drill.Status.Verdict != want {
			t.Errorf("got %s, want %s", drill.Status.Verdict, want)
		}
	}
}
