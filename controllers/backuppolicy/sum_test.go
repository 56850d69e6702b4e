package backuppolicy

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

var midnight = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

// backedUp is the enrollment of a cluster whose last good backup is so many hours old, with the status of its conditions.
func backedUp(cluster string, hours int, status metav1.ConditionStatus, reason string) *backupv1alpha1.BackupEnrollment {
	enrollment := &backupv1alpha1.BackupEnrollment{}
	enrollment.Spec.ClusterRef = metav1alpha1.ClusterReference{Namespace: "acme", Name: cluster}
	if hours > 0 {
		enrollment.Status.LastSuccessful = &backupv1alpha1.BackupRun{StartedAt: &metav1.Time{Time: midnight.Add(-time.Duration(hours) * time.Hour)}}
	}
	enrollment.Status.Next = &metav1.Time{Time: midnight.Add(time.Duration(hours) * time.Hour)}
	for _, kind := range summed {
		enrollment.Status.Conditions = append(enrollment.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason})
	}
	return enrollment
}

func TestWhatTheBackupsOfAPolicyComeTo(t *testing.T) {
	good := backedUp("a", 1, metav1.ConditionTrue, "Succeeded")
	old := backedUp("b", 30, metav1.ConditionFalse, "RPOMissed")
	fresh := backedUp("c", 0, metav1.ConditionUnknown, "NoBackup")
	untold := &backupv1alpha1.BackupEnrollment{}
	for name, test := range map[string]struct {
		enrollments []*backupv1alpha1.BackupEnrollment
		oldest      time.Duration // Ago; 0 for none.
		next        time.Duration
		met         string
		status      metav1.ConditionStatus
		reason      string
		message     string
	}{
		"all are well":       {[]*backupv1alpha1.BackupEnrollment{good, good}, time.Hour, time.Hour, "2/2", metav1.ConditionTrue, "Succeeded", "in all 2 clusters"},
		"one is not":         {[]*backupv1alpha1.BackupEnrollment{good, old}, 30 * time.Hour, time.Hour, "1/2", metav1.ConditionFalse, "RPOMissed", "False in 1 of 2 clusters: acme/b"},
		"one has no backup":  {[]*backupv1alpha1.BackupEnrollment{good, fresh}, 0, 0, "1/2", metav1.ConditionUnknown, "NoBackup", "Unknown in 1 of 2 clusters: acme/c"},
		"one says nothing":   {[]*backupv1alpha1.BackupEnrollment{untold, good}, 0, time.Hour, "1/2", metav1.ConditionUnknown, "Progressing", "Unknown in 1 of 2 clusters: /"},
		"the worst is told":  {[]*backupv1alpha1.BackupEnrollment{fresh, old, good}, 0, 0, "1/3", metav1.ConditionFalse, "RPOMissed", "False in 1 of 3 clusters: acme/b"},
		"many are not named": {slices.Repeat([]*backupv1alpha1.BackupEnrollment{old}, 7), 30 * time.Hour, 30 * time.Hour, "0/7", metav1.ConditionFalse, "RPOMissed", "False in 7 of 7 clusters: acme/b, acme/b, acme/b, acme/b, acme/b and 2 more"},
	} {
		policy, r := &backupv1alpha1.BackupPolicy{}, &Reconciler{}
		r.Sum(policy, func(yield func(any) bool) {
			for _, one := range test.enrollments {
				if !yield(r.Part(one)) {
					return
				}
			}
		}, midnight)
		sum := policy.Status.Backups
		oldest := fmt.Sprint(sum.Oldest)
		if want := fmt.Sprint(&metav1.Time{Time: midnight.Add(-test.oldest)}); test.oldest > 0 && oldest != want || test.oldest == 0 && sum.Oldest != nil {
			t.Errorf("%s: the oldest is of %s, want %s", name, oldest, want)
		}
		if sum.Next == nil || !sum.Next.Equal(&metav1.Time{Time: midnight.Add(test.next)}) || sum.RPOMet != test.met || sum.Proven != test.met {
			t.Errorf("%s: got %+v", name, sum)
		}
		rpo := meta.FindStatusCondition(policy.Status.Conditions, backupv1alpha1.ConditionRPOMet)
		if rpo == nil || rpo.Status != test.status || rpo.Reason != test.reason || rpo.Message != test.message {
			t.Errorf("%s: got %+v", name, rpo)
		}
	}
}

func TestAPolicyWithoutClustersTellsNothingOfBackups(t *testing.T) {
	policy, r := &backupv1alpha1.BackupPolicy{}, &Reconciler{}
	policy.Status.Backups = &backupv1alpha1.BackupSummary{}
	policy.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady}, {Type: backupv1alpha1.ConditionRPOMet}}
	r.Sum(policy, func(func(any) bool) {}, midnight)
	if policy.Status.Backups != nil || len(policy.Status.Conditions) != 1 {
		t.Errorf("got %+v", policy.Status)
	}
}

func TestHowManyClustersAreReadyIsToldInOneColumn(t *testing.T) {
	policy, r := &backupv1alpha1.BackupPolicy{}, &Reconciler{}
	policy.Status.Clusters.Ready.Count, policy.Status.Clusters.Selected.Count = 48, 50
	r.Sum(policy, func(func(any) bool) {}, midnight)
	if told := policy.Status.ReadyClusters; told != "48/50" {
		t.Errorf("got %q", told)
	}
}

// What a policy is woken by is compared with ==.
func TestPartsAreEqualIfNothingChanged(t *testing.T) {
	r := &Reconciler{}
	if one := backedUp("a", 1, metav1.ConditionTrue, "Succeeded"); r.Part(one) != r.Part(one.DeepCopy()) || r.Part(one) == r.Part(backedUp("a", 2, metav1.ConditionTrue, "Succeeded")) {
		t.Error("parts of the same are not equal, or those of others are")
	}
}
