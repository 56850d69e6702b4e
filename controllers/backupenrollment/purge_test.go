package backupenrollment

import (
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
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// ending is an enrollment that was deleted a minute before noon, and whose backups are to go.
func ending(velero *seen) *observation {
	o := enrolled(velero, 0)
	o.Target.DeletionTimestamp = ptrTo(backuptest.Noon.Add(-time.Minute))
	o.Target.Spec.BackupDeletionPolicy = backupv1alpha1.DeleteBackups
	o.Status.Velero = backuptest.Kept(48*time.Hour, 3)
	return o
}

// synced is a BackupStorageLocation whose content Velero brought into the cluster so long before noon.
func synced(phase string, ago time.Duration) *unstructured.Unstructured {
	location := locationAt(phase, "access denied", time.Minute)
	_ = unstructured.SetNestedField(location.Object, backuptest.Noon.Add(-ago).Format(time.RFC3339), "status", "lastSyncedTime")
	return location
}

func TestAllBackupsGoBeforeWhatVeleroNeedsForThat(t *testing.T) {
	now := 10 * time.Second // After the deletion.
	elsewhere := backuptest.StoredAt(50, "InProgress")
	elsewhere.SetLabels(map[string]string{metav1alpha1.LabelBackup: "nightly-1", velerov1.StorageLocationLabel: "default"})
	withSchedule, unlisted, missing, many := shown(synced("Available", now)), shown(nil), &seen{missing: true}, shown(synced("Available", now))
	replaced := shown(synced("Available", now))
	for of, uid := range map[*seen]types.UID{withSchedule: "schedule", replaced: "another"} {
		of.schedule = scheduleWith(false)
		of.schedule.SetGroupVersionKind(veleroobjects.ScheduleKind)
		of.schedule.SetUID(uid)
	}
	schedule := objects.RefOf(withSchedule.schedule)
	unlisted.pending = true
	unknown := shown(synced("Available", now))
	unknown.unknown = "Schedules cannot be watched: forbidden"
	many.backups.Incomplete = true
	for name, test := range map[string]struct {
		velero   *seen
		due      []string
		complete bool
		says     string
	}{
		"nothing is left": {shown(synced("Available", now)), nil, true, ""},
		"the oldest goes first, however young or good they are": {
			shown(synced("Available", now), backuptest.StoredAt(1, "Completed"), backuptest.StoredAt(3, "Failed"), backuptest.StoredAt(2, "Deleting")),
			[]string{"nightly-03", "nightly-02", "nightly-01"}, false, "3 are there still",
		},
		"one is under way": {
			shown(synced("Available", now), backuptest.StoredAt(0, "InProgress"), backuptest.StoredAt(1, "Completed")), []string{"nightly-01"}, false, "1 are under way",
		},
		"only one that is under way is left":      {shown(synced("Available", now), backuptest.StoredAt(0, "InProgress")), nil, false, "1 are under way"},
		"one in other storage stays":              {shown(synced("Available", now), elsewhere), nil, true, ""},
		"more may come":                           {withSchedule, nil, false, "the cluster is looked at"},
		"others make more":                        {replaced, nil, true, ""},
		"more are there than are shown":           {many, nil, false, "the cluster is looked at"},
		"Velero has not looked into the bucket":   {shown(synced("Available", 2*time.Minute), backuptest.StoredAt(1, "Completed")), []string{"nightly-01"}, false, "has not looked for more"},
		"Velero cannot use the storage":           {shown(synced("Unavailable", now), backuptest.StoredAt(1, "Completed")), nil, false, "cannot use the storage: access denied"},
		"somebody removed the storage's location": {shown(nil), nil, false, "BackupStorageLocation nightly-1 is gone"},
		"Velero is gone":                          {missing, nil, false, "install it again"},
		"it is not known what is there":           {unknown, nil, false, "Schedules cannot be watched"},
		"they are not listed yet":                 {unlisted, nil, false, "being listed"},
	} {
		o := ending(test.velero)
		o.Inventory = apply.Inventory{schedule.Key(): {Ref: schedule, UID: "schedule"}}
		p := purgeOf(o)
		p.begun = true
		if due := namesDue(p.Due); !slices.Equal(due, test.due) || p.complete != test.complete {
			t.Errorf("%s: %v are due, complete %t", name, due, p.complete)
		}
		if message := p.message(); !strings.Contains(message, test.says) || !strings.Contains(message, "KeepBackups") {
			t.Errorf("%s: %s", name, message)
		}
		if told := p.outcome(); told.Trouble == nil {
			t.Errorf("%s: the removal of the rest begins before it is done", name)
		}
	}
}

func TestWhatCannotBeDeletedHoldsUpTheEnd(t *testing.T) {
	backup := backuptest.StoredAt(1, "Deleting")
	o := ending(shown(synced("Available", time.Second), backup))
	o.Extra.velero.deletions.Objects = []*unstructured.Unstructured{madeRequest(backup, 2, 20*time.Second, "Processed", "no such key")}
	p := purgeOf(o)
	p.begun = true
	told := p.outcome()
	if told.Trouble.Reason != backupv1alpha1.ReasonDeletionFailed || !strings.Contains(told.Trouble.Message, "backup nightly-01: no such key") {
		t.Errorf("got %+v", told.Trouble)
	}
	if !told.Due[0].Equal(backuptest.Noon.Add(40 * time.Second)) {
		t.Errorf("it is looked again at %s", told.Due[0])
	}
	status := &backupv1alpha1.BackupEnrollmentStatus{}
	told.Tell(status)
	if status.Deletions.Remaining != 1 || status.Deletions.Failed != 1 || status.Deletions.CompletedAt != nil {
		t.Errorf("got %+v", status.Deletions)
	}
	p.completedAt = backuptest.Noon
	told = p.outcome()
	told.Tell(status)
	if told.Trouble != nil || !status.Deletions.CompletedAt.Equal(ptrTo(backuptest.Noon)) {
		t.Errorf("once it is complete: %+v, %+v", told.Trouble, status.Deletions)
	}
}

func TestWhoseBackupsGo(t *testing.T) {
	goes := func(finalBackup bool) *tenancyv1alpha1.TenantCluster {
		tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: ptrTo(backuptest.Noon)}}
		tenant.Spec.Deletion.FinalBackup = finalBackup
		return tenant
	}
	for name, test := range map[string]struct {
		change func(o *observation)
		purged bool
	}{
		"DeleteBackups":                  {func(*observation) {}, true},
		"KeepBackups":                    {func(o *observation) { o.Target.Spec.BackupDeletionPolicy = backupv1alpha1.KeepBackups }, false},
		"from before there was a choice": {func(o *observation) { o.Target.Spec.BackupDeletionPolicy = "" }, false},
		"everything is to stay":          {func(o *observation) { o.Target.Spec.DeletionPolicy = metav1alpha1.DeletionPolicyOrphan }, false},
		"nothing was made":               {func(o *observation) { o.Status.Velero = nil }, false},
		"all are gone": {func(o *observation) {
			o.Status.Deletions = &backupv1alpha1.BackupDeletions{CompletedAt: ptrTo(backuptest.Noon)}
		}, false},
		"the cluster goes":                           {func(o *observation) { o.Tenant = goes(false) }, true},
		"the cluster goes, and leaves a last backup": {func(o *observation) { o.Tenant = goes(true) }, false},
	} {
		o := ending(shown(nil))
		test.change(o)
		if got := isPurged(o); got != test.purged {
			t.Errorf("%s: %t", name, got)
		}
	}
}
