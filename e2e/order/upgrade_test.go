package order

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// Each gate holds the upgrade back until it opens; what the API server runs is what counts.
func TestAnUpgradeWaitsForItsGates(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	c.install("settings")
	c.create(c.order("prod"))
	c.awaitReady("prod")
	c.awaitSettings("prod", minor(oldVersion()))

	tomorrow := time.Now().UTC().Add(24 * time.Hour)
	closed := metav1alpha1.RecurringWindow{
		Schedule: fmt.Sprintf("%d %d * * %d", tomorrow.Minute(), tomorrow.Hour(), int(tomorrow.Weekday())), Duration: metav1.Duration{Duration: time.Minute},
	}
	c.change("prod", func(cluster *tenancyv1alpha1.TenantCluster) {
		cluster.Spec.Topology.Version = newVersion()
		cluster.Spec.MaintenanceWindows = []metav1alpha1.RecurringWindow{closed}
		cluster.Spec.Upgrade.RequireBackupWithin = &metav1.Duration{Duration: time.Hour}
	})
	waiting := c.awaitHeld(metav1alpha1.ReasonWindowClosed)
	if next := waiting.Status.MaintenanceWindow; next == nil || next.Start.UTC().Sub(tomorrow.Truncate(time.Minute)).Abs() > time.Minute {
		t.Errorf("the next window is %v, not at %v", next, tomorrow)
	}

	c.breakAddon(true)
	c.change("prod", func(cluster *tenancyv1alpha1.TenantCluster) { cluster.Spec.MaintenanceWindows = nil })
	c.awaitHeld(tenancyv1alpha1.ReasonTargetsNotReady)

	c.breakAddon(false)
	c.awaitHeld(tenancyv1alpha1.ReasonBackupRequired)

	c.change("prod", func(cluster *tenancyv1alpha1.TenantCluster) { cluster.Spec.Upgrade.RequireBackupWithin = nil })
	c.awaitVersion("prod", newVersion())
}

// awaitHeld waits until the upgrade of prod is held back for a reason, and checks that it was not begun.
func (c *customer) awaitHeld(reason string) *tenancyv1alpha1.TenantCluster {
	c.Helper()
	held := c.await("prod", tenancyv1alpha1.ConditionUpgraded, metav1.ConditionFalse, reason)
	if held.Status.Upgrade != nil || held.Status.OrderedVersion != oldVersion() || c.cluster(c.Context(), "prod").Spec.Topology.Version != oldVersion() {
		c.Errorf("%s: the upgrade was begun: %+v", reason, held.Status)
	}
	return held
}

// breakAddon makes the customer's add-on one that the cluster refuses, or mends it.
func (c *customer) breakAddon(broken bool) {
	c.Helper()
	addon := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "settings"}}
	manifest := `{"spec":{"source":{"manifests":{"inline":"{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {version: \"{{ .Cluster.Version }}\"}}"}}}}`
	ready := metav1.ConditionTrue
	if broken {
		manifest = `{"spec":{"source":{"manifests":{"inline":"{apiVersion: v1, kind: NoSuchKind, metadata: {name: settings}}"}}}}`
		ready = metav1.ConditionFalse
	}
	must(c, env.Admin.Patch(c.Context(), addon, mergePatch(manifest)))
	expect.Eventually(c, "the add-on is broken, or mended", func(ctx context.Context) error {
		release, err := c.release(ctx)
		if err != nil {
			return err
		}
		if meta.FindStatusCondition(release.Status.Conditions, metav1alpha1.ConditionReady).Status != ready {
			return errors.New(expect.Describe(release.Status.Conditions))
		}
		return nil
	})
}

// release is the only one of the customer.
func (c *customer) release(ctx context.Context) (*addonsv1alpha1.AddonRelease, error) {
	list := &addonsv1alpha1.AddonReleaseList{}
	if err := env.Admin.List(ctx, list, inNamespace(c.namespace)); err != nil {
		return nil, err
	}
	if len(list.Items) != 1 || meta.FindStatusCondition(list.Items[0].Status.Conditions, metav1alpha1.ConditionReady) == nil {
		return nil, fmt.Errorf("there are %d releases, or none that says anything", len(list.Items))
	}
	return &list.Items[0], nil
}
