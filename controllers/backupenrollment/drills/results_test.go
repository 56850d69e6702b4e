package drills

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
)

func TestTheDrillThatCounts(t *testing.T) {
	underWay := backuptest.Drilled("now", "", 0)
	underWay.Status.EndedAt = nil
	for name, row := range map[string]struct {
		recorded *backupv1alpha1.DrillResult
		drills   []backupv1alpha1.DRDrill
		want     string
	}{
		"none":                           {nil, nil, ""},
		"the last that came to a result": {nil, []backupv1alpha1.DRDrill{backuptest.Drilled("a", backupv1alpha1.DrillPassed, 9), backuptest.Drilled("b", backupv1alpha1.DrillFailed, 3), backuptest.Drilled("c", backupv1alpha1.DrillPassed, 5)}, "b Failed"},
		"others prove nothing":           {nil, []backupv1alpha1.DRDrill{backuptest.Drilled("a", backupv1alpha1.DrillPassed, 9), backuptest.Drilled("b", backupv1alpha1.DrillInconclusive, 3), backuptest.Drilled("c", backupv1alpha1.DrillCancelled, 1), underWay}, "a Passed"},
		"one that people deleted stays":  {&backupv1alpha1.DrillResult{Name: "gone", Verdict: backupv1alpha1.DrillPassed, EndedAt: metav1.NewTime(backuptest.Noon.Add(-time.Hour))}, []backupv1alpha1.DRDrill{backuptest.Drilled("a", backupv1alpha1.DrillFailed, 9)}, "gone Passed"},
		"until there is a later one":     {&backupv1alpha1.DrillResult{Name: "gone", Verdict: backupv1alpha1.DrillPassed, EndedAt: metav1.NewTime(backuptest.Noon.Add(-time.Hour))}, []backupv1alpha1.DRDrill{backuptest.Drilled("a", backupv1alpha1.DrillFailed, 0)}, "a Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if result := LatestResult(row.recorded, row.drills); result != nil {
				got = result.Name + " " + string(result.Verdict)
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
