package saasaddon

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// hold gives a cluster the finalizer that it has from its own controller, which the test plays.
func (c *customer) hold(cluster *tenancyv1alpha1.TenantCluster) {
	c.Helper()
	base := cluster.DeepCopy()
	cluster.Finalizers = []string{metav1alpha1.FinalizerCluster}
	c.must(c.Patch(c.ctx, cluster, client.MergeFrom(base)))
	c.Cleanup(func() {
		base := cluster.DeepCopy()
		cluster.Finalizers = nil
		c.must(client.IgnoreNotFound(c.Patch(context.Background(), cluster, client.MergeFrom(base))))
	})
}

// step is what the cluster's controller says of its deletion.
func (c *customer) step(cluster *tenancyv1alpha1.TenantCluster, step tenancyv1alpha1.DeletionStep) {
	c.Helper()
	c.reload(cluster)
	cluster.Status.Deletion = &tenancyv1alpha1.Deletion{Step: step, Since: metav1.Now()}
	c.must(c.Status().Update(c.ctx, cluster))
}

func TestTargetsOfADeletedClusterStayAsTheyAreUntilAddonsAreRemoved(t *testing.T) {
	c := newCustomer(t)
	leaving := c.addCluster("leaving", nil)
	c.addCluster("stays", nil)
	c.hold(leaving)
	addon := c.addAddon(unchanged)
	var target addonsv1alpha1.AddonRelease
	for _, one := range c.awaitTargets(addon, 2) {
		c.say(&one, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
		if one.Spec.ClusterRef.Name == "leaving" {
			target = one
		}
	}
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, "ready in 2 clusters")

	c.must(c.Delete(c.ctx, leaving))
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, "still to be removed from 1 cluster (leaving)")
	c.step(leaving, tenancyv1alpha1.DeletionFinalBackup)
	before := addon.Status.Revision
	c.change(addon, func(a *addonsv1alpha1.SaaSAddon) {
		a.Spec.Source.Manifests.Inline = "two"
		a.Spec.Drift.Mode = metav1alpha1.DriftReport
	})
	c.awaitTargets(addon, 1) // That of the other cluster has moved.
	c.eventually("the target gets its settings", func() error {
		c.reload(&target)
		if target.Spec.Drift.Mode != metav1alpha1.DriftReport {
			return fmt.Errorf("it has %+v", target.Spec.Drift)
		}
		return nil
	})
	if target.Spec.Revision != before || !target.DeletionTimestamp.IsZero() {
		t.Errorf("the target has revision %s, not %s; deleted: %v", target.Spec.Revision, before, target.DeletionTimestamp)
	}

	another := c.addAddon(func(a *addonsv1alpha1.SaaSAddon) { a.Name = "late" })
	c.awaitTargets(another, 1)
	c.step(leaving, tenancyv1alpha1.DeletionRemovingTargets)
	c.awaitLost(1)
	c.reload(&target)
	if target.DeletionTimestamp.IsZero() {
		t.Error("the target stays")
	}
}
