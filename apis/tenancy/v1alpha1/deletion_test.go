package v1alpha1

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// deleted at noon, with a timeout of 20 minutes.
func deleted(record *Deletion) *TenantCluster {
	at := metav1.NewTime(noon)
	cluster := &TenantCluster{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &at}, Status: TenantClusterStatus{Deletion: record}}
	cluster.Spec.Deletion.Timeout = &metav1.Duration{Duration: 20 * time.Minute}
	return cluster
}

// silent since so many minutes after noon, by a condition that has this status then.
func (c *TenantCluster) silent(condition string, status metav1.ConditionStatus, since time.Duration) *TenantCluster {
	silent := c.DeepCopy()
	silent.Status.Conditions = append(silent.Status.Conditions, metav1.Condition{
		Type: condition, Status: status, LastTransitionTime: metav1.NewTime(noon.Add(since * time.Minute)),
	})
	return silent
}

func TestTargetsAreKeptUntilStatusSaysThatTheyMayGo(t *testing.T) {
	for name, test := range map[string]struct {
		cluster *TenantCluster
		kept    bool
	}{
		"not deleted":              {&TenantCluster{}, true},
		"deleted, nothing is said": {deleted(nil), true},
		"drills stop":              {deleted(&Deletion{Step: DeletionStoppingDrills}), true},
		"a backup is made":         {deleted(&Deletion{Step: DeletionFinalBackup}), true},
		"add-ons are removed":      {deleted(&Deletion{Step: DeletionRemovingTargets}), false},
		"the cluster is removed":   {deleted(&Deletion{Step: DeletionRemovingCluster}), false},
		"it is let go":             {deleted(&Deletion{Step: DeletionReleasing}), false},
	} {
		if kept := test.cluster.KeepsTargets(); kept != test.kept {
			t.Errorf("%s: kept %t", name, kept)
		}
	}
}

func TestTimeForAddons(t *testing.T) {
	since, deadline := metav1.NewTime(noon.Add(time.Hour)), metav1.NewTime(noon.Add(75*time.Minute))
	removing := &Deletion{Step: DeletionRemovingTargets, Since: since, Deadline: &deadline}
	ordered := deleted(nil)
	ordered.Spec.Topology = &ClusterTopology{}
	late := metav1.NewTime(noon.Add(10 * time.Hour))
	blipped := deleted(&Deletion{Step: DeletionRemovingTargets, Since: since, Deadline: &late})
	backup := deleted(&Deletion{Step: DeletionFinalBackup})
	for name, test := range map[string]struct {
		cluster *TenantCluster
		// removed and want in minutes after noon; 0 for none.
		removed, want time.Duration
	}{
		"what goes with its step has until its deadline": {deleted(removing), 60, 75},
		"what was deleted before it has no longer":       {deleted(removing), 10, 75},
		"what was held up has as long from then":         {deleted(removing), 300, 315},
		"a cluster that answers has no deadline":         {deleted(&Deletion{Step: DeletionRemovingTargets, Since: since}), 60, 0},
		"what was held up in one that fell silent late":  {blipped, 590, 610},
		"and what was not has no longer":                 {blipped, 60, 600},
		"before its step none either, while it answers":  {backup.silent(ConditionConnected, metav1.ConditionTrue, -30), 5, 0},
		"nor before it is known whether it does":         {backup.silent(ConditionConnected, metav1.ConditionUnknown, -30), 5, 0},
		"in one that does not what goes has the timeout": {backup.silent(ConditionConnected, metav1.ConditionFalse, -30), 5, 25},
		"what was deleted before the cluster was":        {backup.silent(ConditionConnected, metav1.ConditionFalse, -30), -5, 20},
		"one that fell silent later counts from then":    {backup.silent(ConditionConnected, metav1.ConditionFalse, 300), 5, 320},
		"and one that became another":                    {backup.silent(ConditionIdentityConflict, metav1.ConditionTrue, 300), 5, 320},
		"of an ordered cluster three quarters of it":     {ordered, 5, 20},
		"a cluster that stays has no deadline":           {&TenantCluster{}, 5, 0},
	} {
		var want time.Time
		if test.want != 0 {
			want = noon.Add(test.want * time.Minute)
		}
		if got := test.cluster.AddonsDeadline(noon.Add(test.removed * time.Minute)); !got.Equal(want) {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
