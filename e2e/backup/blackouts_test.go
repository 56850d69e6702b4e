package backup

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// TestNoBackupStartsInABlackout has a schedule of every minute, so that starts are lost to the blackout.
func TestNoBackupStartsInABlackout(t *testing.T) {
	t.Parallel()
	const cluster = "blackouts"
	c := newCustomer(t, cluster)
	c.createNamespace(cluster, "shop")
	opened := time.Now().UTC().Add(-2 * time.Minute)
	wanted := c.policy("closed")
	wanted.Spec.Schedule.Blackouts = []metav1alpha1.RecurringWindow{{
		Schedule: fmt.Sprintf("%d %d * * *", opened.Minute(), opened.Hour()), Duration: metav1.Duration{Duration: time.Hour},
	}}
	policy := c.create(wanted)
	c.awaitReady(policy)
	c.awaitCondition(policy, cluster, backupv1alpha1.ConditionStorageAvailable, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	c.awaitPaused(policy, cluster, true)
	closes := opened.Truncate(time.Minute).Add(time.Hour)
	if next := c.enrollment(t.Context(), policy, cluster).Status.Next; next == nil || !next.Time.Equal(closes) {
		t.Errorf("the next start is told as %s, and the blackout closes at %s", next, closes)
	}

	c.annotate(policy, metav1alpha1.AnnotationBackupNow, "now")
	asked := c.awaitBackup(policy, cluster)
	if len(asked.Status.Runs) != 1 {
		t.Errorf("in the blackout, there are backups that nobody asked for: %+v", asked.Status.Runs)
	}

	c.patchPolicy(policy, `{"spec":{"schedule":{"blackouts":[]}}}`)
	c.awaitPaused(policy, cluster, false)
	resumed := c.enrollment(t.Context(), policy, cluster).Status.Velero.SkippedUntil
	if resumed == nil {
		t.Fatal("it is not told up to when starts were skipped")
	}
	expect.Eventually(t, "Velero starts a backup by schedule", func(ctx context.Context) error {
		runs := c.enrollment(ctx, policy, cluster).Status.Runs
		if len(runs) < 2 || runs[len(runs)-2].StartedAt == nil {
			return fmt.Errorf("runs %+v", runs)
		}
		if first := runs[len(runs)-2].StartedAt; first.Before(&metav1.Time{Time: resumed.Truncate(time.Minute).Add(time.Minute)}) {
			t.Errorf("at %s, Velero made up for the blackout that ended at %s", first, resumed)
		}
		return nil
	})

	c.patchPolicy(policy, `{"spec":{"schedule":{"blackouts":[{"schedule":"* * * * *","duration":"2m"}]}}}`)
	c.awaitPaused(policy, cluster, true)
	c.remove(policy)
}

// awaitPaused waits until Velero's Schedule is paused, or is not, and the enrollment tells so.
func (c *customer) awaitPaused(policy *backupv1alpha1.BackupPolicy, cluster string, want bool) {
	c.t.Helper()
	expect.Eventually(c.t, fmt.Sprintf("the Schedule is paused: %t", want), func(ctx context.Context) error {
		status := c.enrollment(ctx, policy, cluster).Status
		declared := c.velero("Schedule", cluster, status.Velero.Name)
		paused, _, _ := unstructured.NestedBool(declared.Object, "spec", "paused")
		if paused != want || status.Velero.Paused != want {
			return fmt.Errorf("paused %t, told as %t, conditions %+v", paused, status.Velero.Paused, status.Conditions)
		}
		told := expect.Condition(status.Conditions, backupv1alpha1.ConditionInBlackout, metav1.ConditionTrue, backupv1alpha1.ReasonBlackoutOpen)
		if (told == nil) != want {
			return fmt.Errorf("conditions %+v", status.Conditions)
		}
		return nil
	})
}
