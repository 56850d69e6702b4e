package saasaddon

import (
	"fmt"
	"slices"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

const tier = "tier"

// addFleet creates clusters of tier gold, and an add-on of that tier that has a target in each.
func (c *customer) addFleet(size int) (*addonsv1alpha1.SaaSAddon, []*tenancyv1alpha1.TenantCluster) {
	c.Helper()
	var clusters []*tenancyv1alpha1.TenantCluster
	for i := range size {
		clusters = append(clusters, c.addCluster(fmt.Sprintf("prod-%02d", i), map[string]string{tier: "gold"}))
	}
	addon := c.addAddon(func(a *addonsv1alpha1.SaaSAddon) {
		a.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{tier: "gold"}}
		a.Spec.Rollout.MaxConcurrent = int32(size)
	})
	c.awaitTargets(addon, size)
	return addon, clusters
}

func (c *customer) label(cluster *tenancyv1alpha1.TenantCluster, value string) {
	c.Helper()
	base := cluster.DeepCopy()
	cluster.Labels = map[string]string{tier: value}
	c.must(c.Patch(c.ctx, cluster, client.MergeFrom(base)))
}

// lost are the targets that are being deleted.
func (c *customer) lost() []addonsv1alpha1.AddonRelease {
	c.Helper()
	return slices.DeleteFunc(c.targets(), func(target addonsv1alpha1.AddonRelease) bool { return target.DeletionTimestamp.IsZero() })
}

func (c *customer) awaitLost(count int) {
	c.Helper()
	c.eventually(fmt.Sprintf("%d targets are being deleted", count), func() error {
		if lost := len(c.lost()); lost != count {
			return fmt.Errorf("found %d", lost)
		}
		return nil
	})
}

func (c *customer) countEvents(reason string) (count int) {
	c.Helper()
	events := &eventsv1.EventList{}
	c.must(c.List(c.ctx, events, client.InNamespace(c.namespace)))
	for _, event := range events.Items {
		if event.Reason == reason {
			count++
		}
	}
	return count
}

func TestSelectorEditThatLosesTooManyClustersIsStoppedUntilConfirmed(t *testing.T) {
	c := newCustomer(t)
	addon, _ := c.addFleet(20)
	c.change(addon, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.ClusterSelector.MatchLabels[tier] = "glod" })
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonWithdrawalGuard,
		"20 of 20 clusters", "the 4 allowed within an hour", `daytwo.dev/confirm-withdrawal: "20"`, "prod-00, prod-01")
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonWithdrawalGuard)
	c.awaitLost(0)

	confirm := func(value string) {
		c.change(addon, func(a *addonsv1alpha1.SaaSAddon) {
			a.Annotations = map[string]string{metav1alpha1.AnnotationConfirmWithdrawal: value}
		})
	}
	confirm("19")
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonWithdrawalGuard, `(it says "19")`)
	c.awaitLost(0)
	confirm("20")
	c.awaitLost(20)
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonNoClusters, "still to be removed from 20 clusters")
	if record := addon.Status.Withdrawals; record.Underway != nil || len(record.Recent) > 0 || record.SpentConfirmation != "20" {
		t.Errorf("remembers %+v", record)
	}
	c.eventually("the events", func() error {
		if held, confirmed := c.countEvents(metav1alpha1.ReasonWithdrawalGuard), c.countEvents("WithdrawalConfirmed"); held != 1 || confirmed != 1 {
			return fmt.Errorf("%d that it was stopped, %d that it was confirmed", held, confirmed)
		}
		return nil
	})
}

func TestSingleLabelEditsAreStoppedTogether(t *testing.T) {
	c := newCustomer(t)
	addon, clusters := c.addFleet(20)
	for i := range 4 {
		c.label(clusters[i], "silver")
		c.awaitLost(i + 1)
	}
	c.label(clusters[4], "silver")
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonWithdrawalGuard, "1 of 16 clusters", "beside 4 in the last hour", "(prod-04)")
	c.label(clusters[5], "silver")
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonWithdrawalGuard, "2 of 16 clusters")
	c.awaitLost(4)

	c.label(clusters[4], "gold")
	c.label(clusters[5], "gold")
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonRollingOut)
	if stalled := meta.FindStatusCondition(addon.Status.Conditions, metav1alpha1.ConditionStalled); stalled != nil {
		t.Errorf("still stalled: %+v", stalled)
	}
	c.awaitLost(4)
}

func TestDeletionOfManyTenantClustersIsStopped(t *testing.T) {
	c := newCustomer(t)
	addon, _ := c.addFleet(20)
	c.must(c.DeleteAllOf(c.ctx, &tenancyv1alpha1.TenantCluster{}, client.InNamespace(c.namespace)))
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonWithdrawalGuard)
	c.eventually("nothing is selected", func() error {
		c.reload(addon)
		if selected := addon.Status.Clusters.Selected.Count; selected > 0 {
			return fmt.Errorf("%d are", selected)
		}
		return nil
	})
	if lost := len(c.lost()); lost > 4 {
		t.Errorf("%d targets are being deleted", lost)
	}
}
