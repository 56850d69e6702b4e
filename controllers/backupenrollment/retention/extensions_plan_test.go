package retention

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
)

// expiring is a good backup that started so long before noon, and that Velero deletes so long after noon.
func expiring(ago, in time.Duration) *unstructured.Unstructured {
	backup := backuptest.StoredAt(int(ago/time.Hour), "Completed")
	_ = unstructured.SetNestedField(backup.Object, backuptest.Noon.Add(in).Format(time.RFC3339), "status", "expiration")
	return backup
}

func TestTheLastGoodBackupOutlastsWhatVeleroKnows(t *testing.T) {
	const day = 24 * time.Hour
	forever := backuptest.StoredAt(1, "Completed")
	unstructured.RemoveNestedField(forever.Object, "status", "expiration")
	for name, row := range map[string]struct {
		kept     *unstructured.Unstructured
		extended time.Duration // Before noon; zero for never.
		until    time.Duration // After noon; zero for not now.
		wakes    time.Duration
	}{
		"it is young":                    {kept: expiring(10*day, 30*day), wakes: 20 * day},
		"a quarter of its time is left":  {kept: expiring(30*day, 10*day), until: 40 * day},
		"its time is over":               {kept: expiring(40*day, -time.Hour), until: 40*day - time.Hour},
		"it has hours":                   {kept: expiring(6*time.Hour, time.Hour), until: day},
		"it was good for ever":           {kept: expiring(365*day, 10*day), until: 365 * day},
		"somebody took that back":        {kept: expiring(30*day, 10*day), extended: 20 * time.Minute, wakes: 40 * time.Minute},
		"somebody takes it back all day": {kept: expiring(30*day, 10*day), extended: time.Hour, until: 40 * day},
		"Velero never deletes it":        {kept: forever},
	} {
		var extendedAt *metav1.Time
		if row.extended > 0 {
			extendedAt = &metav1.Time{Time: backuptest.Noon.Add(-row.extended)}
		}
		due, wakeAt := PlanExtensions([]*unstructured.Unstructured{row.kept}, extendedAt, backuptest.Noon)
		switch {
		case (row.until > 0) != (len(due) == 1):
			t.Errorf("%s: due are %+v", name, due)
		case row.until > 0 && !due[0].Until.Equal(backuptest.Noon.Add(row.until)):
			t.Errorf("%s: until %s", name, due[0].Until)
		case row.wakes > 0 && !wakeAt.Equal(backuptest.Noon.Add(row.wakes)) || row.wakes == 0 && !wakeAt.IsZero():
			t.Errorf("%s: it is looked at again at %s", name, wakeAt)
		}
	}
}
