package backupenrollment

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/drills"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// away is an enrollment whose cluster cannot be reached, with a good backup of so long before noon.
func away(ago time.Duration) *observation {
	o := enrolled(nil, 2*time.Hour)
	o.Unreachable = "no answer"
	o.Target.Spec.Objectives.MaxDrillAge = hours(4)
	o.Status.LastSuccessful = &backupv1alpha1.BackupRun{Name: "nightly-1", StartedAt: ptrTo(backuptest.Noon.Add(-ago)), EndedAt: ptrTo(backuptest.Noon.Add(-ago)), Phase: "Completed"}
	o.Status.Runs = []backupv1alpha1.BackupRun{*o.Status.LastSuccessful}
	return o
}

func TestTimePassesWhileAClusterIsAway(t *testing.T) {
	for name, row := range map[string]struct {
		backup, drill time.Duration
		met           metav1.ConditionStatus
		why           string
		proven        metav1.ConditionStatus
	}{
		"for a while":                 {backup: time.Hour, drill: time.Hour, met: metav1.ConditionTrue, why: metav1alpha1.ReasonSucceeded, proven: metav1.ConditionTrue},
		"for longer than an RPO":      {backup: 3 * time.Hour, drill: time.Hour, met: metav1.ConditionUnknown, why: backupv1alpha1.ReasonBackupsNotSeen, proven: metav1.ConditionTrue},
		"for longer than proof lasts": {backup: 5 * time.Hour, drill: 5 * time.Hour, met: metav1.ConditionUnknown, why: backupv1alpha1.ReasonBackupsNotSeen, proven: metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			o := away(row.backup)
			o.Extra.proof.last = drills.LatestResult(nil, []backupv1alpha1.DRDrill{backuptest.Drilled("weekly", backupv1alpha1.DrillPassed, int(row.drill.Hours()))})
			got, status := (&Reconciler{}).Outcome(o), &backupv1alpha1.BackupEnrollmentStatus{}
			got.Tell(status)
			for kind, want := range map[string]metav1.ConditionStatus{
				backupv1alpha1.ConditionRPOMet: row.met, backupv1alpha1.ConditionRecoveryProven: row.proven,
				backupv1alpha1.ConditionBackupsHealthy: metav1.ConditionUnknown, backupv1alpha1.ConditionStorageAvailable: metav1.ConditionUnknown,
				backupv1alpha1.ConditionCoverageComplete: metav1.ConditionUnknown,
			} {
				if err := expect.Condition(status.Conditions, kind, want, ""); err != nil {
					t.Error(err)
				}
			}
			if err := expect.Condition(status.Conditions, backupv1alpha1.ConditionRPOMet, row.met, row.why); err != nil {
				t.Error(err)
			}
			if row.met == metav1.ConditionTrue && !slices.Contains(got.Due, backuptest.Noon.Add(time.Hour)) {
				t.Errorf("it is not looked at when the backup is too old: %v", got.Due)
			}
			if status.LastDrill == nil {
				t.Error("the drill is forgotten")
			}
		})
	}
}
