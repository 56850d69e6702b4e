package backupenrollment

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/drills"
)

func hours(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Hour} }

func TestWhatDrillsProve(t *testing.T) {
	result := func(verdict backupv1alpha1.DrillVerdict, hoursAgo int) *backupv1alpha1.DrillResult {
		return drills.LatestResult(nil, []backupv1alpha1.DRDrill{backuptest.Drilled("weekly", verdict, hoursAgo)})
	}
	for name, row := range map[string]struct {
		drill       *backupv1alpha1.DrillResult
		rto, maxAge *metav1.Duration
		proven, rtoMet,
		says string
	}{
		"no drill":                 {nil, hours(2), nil, "Unknown NoDrill", "Unknown NoDrill", "no drill came to a result yet"},
		"no drill for too long":    {nil, hours(2), hours(1), "False DrillOverdue", "Unknown NoDrill", "create a DRDrill"},
		"no drill, but time":       {nil, nil, hours(2), "Unknown NoDrill", "Unknown NoObjective", "no drill came to a result yet"},
		"one that passed":          {result(backupv1alpha1.DrillPassed, 5), hours(1), hours(6), "True DrillPassed", "True Succeeded", "DRDrill weekly restored backup nightly-1"},
		"one that passed long ago": {result(backupv1alpha1.DrillPassed, 5), hours(1), hours(5), "False DrillOverdue", "True Succeeded", "since 2026-11-23T07:00:00Z"},
		"one that was too slow":    {result(backupv1alpha1.DrillPassed, 5), &metav1.Duration{Duration: time.Minute}, nil, "True DrillPassed", "False RTOMissed", "DRDrill weekly restored"},
		"one that failed":          {result(backupv1alpha1.DrillFailed, 5), hours(1), nil, "False DrillFailed", "Unknown NoDrill", "DRDrill weekly: Failed: as found"},
	} {
		t.Run(name, func(t *testing.T) {
			o := enrolled(nil, 0)
			o.Extra.proof.last = row.drill
			o.Target.Spec.Objectives.RTO, o.Target.Spec.Objectives.MaxDrillAge = row.rto, row.maxAge
			proven, rto := provenFinding(o), rtoFinding(o)
			if got := string(proven.status) + " " + proven.reason; got != row.proven || !strings.Contains(proven.message, row.says) {
				t.Errorf("RecoveryProven is %s: %s; want %s: … %s", got, proven.message, row.proven, row.says)
			}
			if got := string(rto.status) + " " + rto.reason; got != row.rtoMet {
				t.Errorf("RTOMet is %s: %s; want %s", got, rto.message, row.rtoMet)
			}
			overdue := proven.reason == backupv1alpha1.ReasonDrillOverdue
			if wakes := !proven.due.IsZero(); wakes != (row.maxAge != nil && !overdue) {
				t.Errorf("it is looked at again at %s", proven.due)
			}
		})
	}
	if reason := provenFinding(enrolled(nil, 0)).reason; reason == metav1alpha1.ReasonSucceeded {
		t.Error("nothing is proven without a drill")
	}
}
