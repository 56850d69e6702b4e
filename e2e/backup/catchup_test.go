package backup

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// TestABackupThatFailedIsCaughtUpOnce has a schedule that comes once while the test runs. The backup that Velero makes then has
// too few objects to be a good one.
func TestABackupThatFailedIsCaughtUpOnce(t *testing.T) {
	t.Parallel()
	const cluster = "catchup"
	c := newCustomer(t, cluster)
	c.createNamespace(cluster, "shop")
	wanted := c.yearly("owed")
	wanted.Spec.Schedule.CatchUp, wanted.Spec.MinItems = ptr.To(false), ptr.To[int32](20)
	policy := c.create(wanted)
	c.awaitReady(policy)
	c.awaitCondition(policy, cluster, backupv1alpha1.ConditionStorageAvailable, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)

	start := time.Now().UTC().Add(90 * time.Second).Truncate(time.Minute)
	c.patchPolicy(policy, fmt.Sprintf(`{"spec":{"schedule":{"cron":"%d %d * * *"}}}`, start.Minute(), start.Hour()))
	told := c.awaitCondition(policy, cluster, backupv1alpha1.ConditionBackupsHealthy, metav1.ConditionFalse, backupv1alpha1.ReasonBackupFailed)
	if !strings.Contains(told.Message, "spec.minItems asks for 20") {
		t.Errorf("the backup failed otherwise than it should: %s", told.Message)
	}
	if runs := c.enrollment(t.Context(), policy, cluster).Status.Runs; len(runs) != 1 {
		t.Errorf("a policy that catches nothing up has the backups %+v", runs)
	}

	for i := range 30 {
		must(t, c.workload(cluster).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("item-%d", i)}}))
	}
	c.patchPolicy(policy, `{"spec":{"schedule":{"catchUp":true}}}`)
	c.awaitCondition(policy, cluster, backupv1alpha1.ConditionBackupsHealthy, metav1.ConditionTrue, backupv1alpha1.ReasonBackupsSucceed)
	expect.Eventually(t, "the backup was caught up", func(ctx context.Context) error {
		status := c.enrollment(ctx, policy, cluster).Status
		made, good := status.CaughtUp, status.LastSuccessful
		if made == nil || good == nil || made.Action.Outcome != metav1alpha1.ActionSucceeded {
			return fmt.Errorf("caught up %+v, good %+v", made, good)
		}
		if !made.ScheduledAt.Time.Equal(start) || made.Reason != backupv1alpha1.CatchUpFailed || !strings.HasSuffix(made.Action.Object, "/"+good.Name) {
			t.Errorf("caught up %+v for the start of %s, good %+v", made, start, good)
		}
		return nil
	})
	// The next backup would fail again, and so would what is made in its place. There is none for the same start.
	c.patchPolicy(policy, `{"spec":{"minItems":100000}}`)
	tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: cluster}}
	c.annotate(tenant, metav1alpha1.AnnotationRequestedAt, "now")
	c.awaitCondition(policy, cluster, backupv1alpha1.ConditionBackupsHealthy, metav1.ConditionFalse, backupv1alpha1.ReasonBackupFailed)
	expect.Eventually(t, "it has looked", func(ctx context.Context) error {
		if handled := c.enrollment(ctx, policy, cluster).Status.HandledRequest; handled != "now" {
			return fmt.Errorf("it handled %q", handled)
		}
		return nil
	})
	if runs := c.enrollment(t.Context(), policy, cluster).Status.Runs; len(runs) != 2 {
		t.Errorf("for one start there are the backups %+v", runs)
	}
	c.remove(policy)
}

func (c *customer) patchPolicy(policy *backupv1alpha1.BackupPolicy, patch string) {
	c.t.Helper()
	must(c.t, env.Admin.Patch(c.t.Context(), policy, client.RawPatch("application/merge-patch+json", []byte(patch))))
}
