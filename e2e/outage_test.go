package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// TestADeadClusterHoldsNobodyUp lets one cluster die and swallows the packets of another.
func TestADeadClusterHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 0, 3)
	alive, killed, silent := c.clusters.bare[0], c.clusters.bare[1], c.clusters.bare[2]
	addon := c.newAddon("outage", fmt.Sprintf(oneConfigMap, "blue"))
	addon.Spec.Rollout.MaxConcurrent = 1
	must(t, env.Admin.Create(t.Context(), addon))
	c.awaitReady(addon)

	must(t, fleetCluster(t, killed).Stop(t.Context()))
	must(t, fleetCluster(t, silent).Pause())
	for _, dead := range []string{killed, silent} {
		c.awaitCluster(dead, tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, tenancyv1alpha1.ReasonUnreachable)
		c.awaitReleaseCondition(addon, dead, metav1alpha1.ConditionReady, metav1.ConditionUnknown, metav1alpha1.ReasonClusterUnreachable)
	}
	old := addon.Status.Revision
	c.change(addon, fmt.Sprintf(oneConfigMap, "green"))
	c.awaitRelease(addon, alive, "ready at the new revision", func(release *addonsv1alpha1.AddonRelease) error {
		if release.Status.Revision == old {
			return fmt.Errorf("it is at %s", old)
		}
		return expect.Condition(release.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
	expect.Eventually(t, "the add-on's status tells one ready and two unreachable", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(addon), addon); err != nil {
			return err
		}
		if got := addon.Status.Clusters; got.Ready.Count != 1 || got.Unreachable.Count != 2 {
			return fmt.Errorf("it tells %+v", got)
		}
		return expect.Condition(addon.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionUnknown, metav1alpha1.ReasonClusterUnreachable)
	})

	must(t, fleetCluster(t, killed).Start(t.Context()))
	must(t, fleetCluster(t, silent).Resume())
	c.awaitReady(addon)
	for _, cluster := range c.clusters.bare {
		settings := &corev1.ConfigMap{}
		must(t, c.workload(cluster).Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "settings"}, settings))
		if settings.Data["color"] != "green" {
			t.Errorf("%s is said to have caught up, and has %v", cluster, settings.Data)
		}
	}
}

func fleetCluster(t testing.TB, name string) *localfleet.Cluster {
	t.Helper()
	cluster, err := env.Fleet.Cluster(name)
	must(t, err)
	return cluster
}

func TestAnUnreachableClusterIsAbandonedOnRequest(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 0, 1)
	cluster := c.clusters.bare[0]
	kept := c.install("kept", fmt.Sprintf(oneConfigMap, "blue"))
	deleted := c.install("deleted", strings.ReplaceAll(fmt.Sprintf(oneConfigMap, "blue"), "settings", "others"))
	t.Cleanup(func() { // What is abandoned stays in the cluster, which other tests use too.
		must(t, fleetCluster(t, cluster).Start(context.Background()))
		for _, name := range []string{"settings", "others"} {
			left := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
			must(t, client.IgnoreNotFound(c.workload(cluster).Delete(context.Background(), left)))
		}
	})

	must(t, fleetCluster(t, cluster).Stop(t.Context()))
	c.awaitCluster(cluster, tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, tenancyv1alpha1.ReasonUnreachable)
	tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: cluster}}
	must(t, env.Admin.Get(t.Context(), client.ObjectKeyFromObject(tenant), tenant))
	before := tenant.DeepCopy()
	delete(tenant.Labels, tierLabel)
	must(t, env.Admin.Patch(t.Context(), tenant, client.MergeFrom(before)))
	must(t, env.Admin.Delete(t.Context(), deleted))

	for addon, left := range map[*addonsv1alpha1.SaaSAddon]string{kept: "settings", deleted: "others"} {
		release := c.awaitRelease(addon, cluster, "it says what is left", func(release *addonsv1alpha1.AddonRelease) error {
			if release.DeletionTimestamp == nil {
				return fmt.Errorf("it is not deleted")
			}
			return says(message(release.Status.Conditions, metav1alpha1.ConditionReady), "ConfigMap default/"+left, metav1alpha1.AnnotationAbandon)
		})
		before := release.DeepCopy()
		release.Annotations = map[string]string{metav1alpha1.AnnotationAbandon: "true"}
		must(t, env.Admin.Patch(t.Context(), release, client.MergeFrom(before)))
		waitGone(t, env.Admin, release)
	}
	waitGone(t, env.Admin, deleted)
	expect.Eventually(t, "the add-on's status tells of it", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(kept), kept); err != nil {
			return err
		}
		abandoned := kept.Status.Abandoned
		if len(abandoned) != 1 || abandoned[0].Cluster.Name != cluster || abandoned[0].Objects.Count != 1 {
			return fmt.Errorf("it tells %+v", abandoned)
		}
		return says(abandoned[0].Objects.Names[0], "settings")
	})
	for _, left := range []string{"settings", "others"} {
		c.awaitEvent("Abandoned", "ConfigMap default/"+left, cluster)
	}
	c.awaitEvent("TargetAbandoned", cluster)

	// What was abandoned is swept soon after the cluster is back, unless that is suspended.
	c.suspend(cluster, true)
	must(t, fleetCluster(t, cluster).Start(t.Context()))
	c.awaitCluster(cluster, tenancyv1alpha1.ConditionConnected, metav1.ConditionTrue, "")
	must(t, c.workload(cluster).Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "settings"}, &corev1.ConfigMap{}))
	c.suspend(cluster, false)
}

func (c *customer) suspend(cluster string, suspended bool) {
	c.Helper()
	tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: cluster}}
	must(c, env.Admin.Get(c.Context(), client.ObjectKeyFromObject(tenant), tenant))
	before := tenant.DeepCopy()
	tenant.Spec.Suspend = suspended
	must(c, env.Admin.Patch(c.Context(), tenant, client.MergeFrom(before)))
}

// awaitEvent waits for an Event of the customer with this reason and these words.
func (c *customer) awaitEvent(reason string, words ...string) {
	c.Helper()
	expect.Eventually(c, "there is an Event "+reason, func(ctx context.Context) error {
		events := &eventsv1.EventList{}
		if err := env.Admin.List(ctx, events, client.InNamespace(c.namespace)); err != nil {
			return err
		}
		seen := ""
		for i := range events.Items {
			seen += "\n  " + events.Items[i].Reason + ": " + events.Items[i].Note
			if events.Items[i].Reason == reason && says(events.Items[i].Note, words...) == nil {
				return nil
			}
		}
		return fmt.Errorf("with %q there is none among:%s", words, seen)
	})
}
