package backupenrollment

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
)

// covering is an enrollment whose template leaves out the namespace scratch, with a backup of which these are the details.
func covering(known history.Details) *observation {
	velero := shown(nil, backuptest.BackupAt(1, "Completed", 3, nil))
	velero.schedule = backuptest.ScheduleOf("nightly-1", nil, []any{"scratch"})
	velero.schedules = []*unstructured.Unstructured{velero.schedule, backuptest.ScheduleOf("weekly-1", []any{"scratch"}, nil)}
	velero.namespaces = fleet.Observed{KindState: tracker.KindState{Listed: true}, Objects: []*unstructured.Unstructured{backuptest.NamespaceNamed("shop", nil)}}
	o := enrolled(velero, 0)
	o.Extra.reading.Known = history.AllDetails{backuptest.IDAt(1): known}
	return o
}

func TestWhatNoBackupCovers(t *testing.T) {
	scratch := func(o *observation) {
		o.Extra.velero.namespaces.Objects = append(o.Extra.velero.namespaces.Objects, backuptest.NamespaceNamed("scratch", nil))
	}
	many := func(o *observation) {
		o.Extra.velero.schedule = backuptest.ScheduleOf("nightly-1", []any{"shop"}, nil)
		for i := range 7 {
			o.Extra.velero.namespaces.Objects = append(o.Extra.velero.namespaces.Objects, backuptest.NamespaceNamed(fmt.Sprintf("team-%d", i), nil))
		}
	}
	for name, row := range map[string]struct {
		details history.Details
		change  func(*observation)
		status  metav1.ConditionStatus
		says    string
	}{
		"nothing is left out":             {backuptest.WithVolumes(2, 2), nil, metav1.ConditionTrue, "1 namespaces, and 2 volumes in backup nightly-01"},
		"a namespace is":                  {backuptest.WithVolumes(2, 2), scratch, metav1.ConditionFalse, "no policy backs up 1 of 2 namespaces: scratch"},
		"many are":                        {backuptest.WithVolumes(2, 2), many, metav1.ConditionFalse, "no policy backs up 7 of 8 namespaces: team-0, team-1, team-2, team-3, team-4 and 2 more"},
		"a volume is":                     {backuptest.WithVolumes(1, 2), nil, metav1.ConditionFalse, "backup nightly-01 has no data of 1 of 2 volumes: shop/data"},
		"both are":                        {backuptest.WithVolumes(1, 3), scratch, metav1.ConditionFalse, "no policy backs up 1 of 2 namespaces: scratch; backup nightly-01 has no data of 2 of 3 volumes: shop/data and 1 more"},
		"the backup is not read":          {history.Details{}, nil, metav1.ConditionUnknown, "the volumes of a backup were not read yet"},
		"the backup cannot be read":       {history.Details{Problem: "no answer"}, nil, metav1.ConditionUnknown, "the volumes of backup nightly-01 are not known: no answer"},
		"nobody wrote of volumes":         {history.Details{Read: true, Bytes: ptr.To[int64](1)}, nil, metav1.ConditionUnknown, "the bucket does not tell which volumes backup nightly-01 has"},
		"a namespace is, whatever is not": {history.Details{}, scratch, metav1.ConditionFalse, "no policy backs up 1 of 2 namespaces: scratch"},
		"another policy backs it up": {backuptest.WithVolumes(2, 2), func(o *observation) {
			scratch(o)
			o.Extra.policies = []string{"weekly-1"}
		}, metav1.ConditionTrue, "2 namespaces, and 2 volumes in backup nightly-01"},
		"the Schedule is gone":       {backuptest.WithVolumes(2, 2), func(o *observation) { o.Extra.velero.schedule = nil }, metav1.ConditionUnknown, "the Schedule is not seen yet"},
		"namespaces are not listed":  {backuptest.WithVolumes(2, 2), func(o *observation) { o.Extra.velero.namespaces = fleet.Observed{} }, metav1.ConditionUnknown, "waits for the first list of namespaces"},
		"namespaces are not allowed": {backuptest.WithVolumes(2, 2), func(o *observation) { o.Extra.velero.namespaces.Unknown = "forbidden" }, metav1.ConditionUnknown, "namespaces cannot be watched: forbidden"},
		"there are too many":         {backuptest.WithVolumes(2, 2), func(o *observation) { o.Extra.velero.namespaces.Incomplete = true }, metav1.ConditionUnknown, "the cluster has more than 500 namespaces, or very large ones"},
	} {
		t.Run(name, func(t *testing.T) {
			o := covering(row.details)
			if row.change != nil {
				row.change(o)
			}
			told := history.Of(o.Extra.velero.backups.Objects, standardOf(o, o.Extra.reading.Known))
			if f := coverageFinding(o, told); f.status != row.status || f.message != row.says || f.reason == "" {
				t.Errorf("got %s (%s): %s", f.status, f.reason, f.message)
			}
		})
	}
}

func TestWhatIsLeftOutIsNoReasonNotToBeReady(t *testing.T) {
	o := covering(backuptest.WithVolumes(1, 2))
	o.Extra.velero.location = locationAt("Available", "", 0)
	done := new(Reconciler).Outcome(o)
	done.Tell(&o.Status)
	if done.Unhealthy != nil {
		t.Errorf("it is not healthy: %+v", done.Unhealthy)
	}
	for _, condition := range o.Status.Conditions {
		if condition.Type == backupv1alpha1.ConditionCoverageComplete && condition.Status == metav1.ConditionFalse {
			return
		}
	}
	t.Errorf("conditions %+v", o.Status.Conditions)
}
