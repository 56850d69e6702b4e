package order

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// No policy backs the cluster up here; e2e/backup has one that does.
func TestAnOrderedClusterStaysUntilItsFinalBackupIsMade(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	c.install("settings")
	order := c.order("prod")
	order.Spec.Deletion.FinalBackup = true
	c.create(order)
	c.awaitReady("prod")
	c.awaitSettings("prod", minor(oldVersion()))

	must(t, env.Admin.Delete(t.Context(), order))
	c.awaitStep("prod", "select the cluster with a BackupPolicy")
	c.awaitStep("prod", "spec.deletion.finalBackup to false")
	release, err := c.release(t.Context())
	must(t, err)
	if live := c.cluster(t.Context(), "prod"); !release.DeletionTimestamp.IsZero() || !live.DeletionTimestamp.IsZero() {
		t.Errorf("the add-on goes at %v, the cluster at %v", release.DeletionTimestamp, live.DeletionTimestamp)
	}
	c.change("prod", func(cluster *tenancyv1alpha1.TenantCluster) { cluster.Spec.Deletion.FinalBackup = false })
	c.awaitGone(order)
	c.awaitGone(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.clusters(), Name: "prod"}})
	if records := c.orphans(); len(records) > 0 {
		t.Errorf("something is said to remain: %+v", records)
	}
}

// awaitStep waits until the deletion waits for the final backup, and says why.
func (c *customer) awaitStep(name, says string) {
	c.Helper()
	expect.Eventually(c, "the final backup is awaited: "+says, func(context.Context) error {
		status := c.get(name).Status
		ready := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady)
		if status.Deletion == nil || status.Deletion.Step != tenancyv1alpha1.DeletionFinalBackup || !strings.Contains(ready.Message, says) {
			return fmt.Errorf("it is at %+v: %s", status.Deletion, expect.Describe(status.Conditions))
		}
		return nil
	})
}
