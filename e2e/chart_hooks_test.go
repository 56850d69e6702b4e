package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/e2e/helmclient"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// TestTheTestsOfAChartRunOnRequest asks for them on the SaaSAddon, once as they are and once with one that
// fails, and then looks at what hooks leave behind.
func TestTheTestsOfAChartRunOnRequest(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 1, 0)
	cluster := c.clusters.full[0]
	served := c.startRegistry(chartArchive(t, "hooks", charts.FirstVersion))
	addon := c.newChartAddon("shop", served.OCI(), "hooks", charts.FirstVersion)
	c.livesIn(addon, "market")
	c.create(addon)
	c.awaitReady(addon)

	c.runTests(addon, cluster, "first", addonsv1alpha1.HookSucceeded, "1 test")
	c.update(addon, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Values = valuesOf(`{"tests": {"failing": true}}`) })
	c.awaitReady(addon)
	c.runTests(addon, cluster, "second", addonsv1alpha1.HookFailed, "Pod market/shop-hooks-test-refund", "exit code")
	c.awaitReady(addon) // Tests are no part of what is ready.

	status, err := helmOf(t, cluster).Status(types.NamespacedName{Namespace: "market", Name: "shop"}, 0)
	must(t, err)
	phases := map[string]string{}
	for _, hook := range status.Hooks {
		phases[hook.Name] = string(hook.LastRun.Phase)
	}
	if phases["shop-hooks-test-order"] != "Succeeded" || phases["shop-hooks-test-refund"] != "Failed" {
		t.Errorf("helm status tells of the hooks: %v", phases)
	}
	c.uninstall(addon)
	c.expectLeft(cluster, "market",
		"batch/v1/Job/market/shop-hooks-farewell", "batch/v1/Job/market/shop-hooks-verify", "v1/ConfigMap/market/shop-hooks-migrations",
		"v1/Pod/market/shop-hooks-test-order", "v1/Pod/market/shop-hooks-test-refund")
}

func TestTheDataOfAChartStays(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 1, 0)
	cluster := c.clusters.full[0]
	served := c.startRegistry(chartArchive(t, "database", charts.FirstVersion))
	addon := c.newChartAddon("ledger", served.HTTPS(), "database", charts.FirstVersion)
	c.livesIn(addon, "books")
	c.createSecret("ledger-values", corev1.SecretTypeOpaque, map[string]string{"values.yaml": "password: " + canary})
	addon.Spec.ValuesFrom = valuesFromSecret("ledger-values")
	c.create(addon)
	// Nobody provides volumes here, so that it is applied and waits for them.
	c.awaitReleaseCondition(addon, cluster, metav1alpha1.ConditionApplied, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	claim := &corev1.PersistentVolumeClaim{}
	expect.Eventually(t, "the StatefulSet has made its claim", func(ctx context.Context) error {
		return c.workload(cluster).Get(ctx, types.NamespacedName{Namespace: "books", Name: "data-ledger-database-0"}, claim)
	})
	c.uninstall(addon)
	c.expectLeft(cluster, "books", "v1/PersistentVolumeClaim/books/data-ledger-database-0", "v1/PersistentVolumeClaim/books/ledger-database-backups")
}

// livesIn puts an add-on into a namespace that somebody else made, and takes away.
func (c *customer) livesIn(addon *addonsv1alpha1.SaaSAddon, name string) {
	c.Helper()
	addon.Spec.Namespace, addon.Spec.CreateNamespace = name, false
	for _, cluster := range c.clusters.all() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		must(c, c.workload(cluster).Create(c.Context(), namespace))
		c.Cleanup(func() { c.removeNamespace(cluster, namespace) })
	}
}

// removeNamespace also does what a controller for volumes does, which the local fleet has none of.
func (c *customer) removeNamespace(cluster string, namespace *corev1.Namespace) {
	c.Helper()
	workload := c.workload(cluster)
	must(c, workload.Delete(context.Background(), namespace))
	expect.Eventually(c, "the claims in "+namespace.Name+" are let go", func(ctx context.Context) error {
		claims := &corev1.PersistentVolumeClaimList{}
		if err := workload.List(ctx, claims, client.InNamespace(namespace.Name)); err != nil {
			return err
		}
		for i := range claims.Items {
			claims.Items[i].Finalizers = nil
			if err := client.IgnoreNotFound(workload.Update(ctx, &claims.Items[i])); err != nil {
				return err
			}
		}
		return noItems(claims)
	})
	waitGone(c, workload, namespace)
}

// runTests asks for the tests of a chart in all clusters, and waits for the result in one.
func (c *customer) runTests(addon *addonsv1alpha1.SaaSAddon, cluster, token string, phase addonsv1alpha1.HookPhase, words ...string) {
	c.Helper()
	c.update(addon, func(a *addonsv1alpha1.SaaSAddon) {
		metav1.SetMetaDataAnnotation(&a.ObjectMeta, metav1alpha1.AnnotationRunTests, token)
	})
	c.awaitRelease(addon, cluster, "the tests of "+token+" are "+string(phase), func(release *addonsv1alpha1.AddonRelease) error {
		tests := release.Status.Helm.Tests
		if tests == nil || tests.Token != token || tests.Phase != phase || tests.CompletedAt == nil {
			return fmt.Errorf("the status tells %+v", tests)
		}
		return says(tests.Message, words...)
	})
}

// expectLeft compares everything in a namespace to what is to be left there.
func (c *customer) expectLeft(cluster, namespace string, want ...string) {
	c.Helper()
	expect.Eventually(c, "only data and hooks are left in "+namespace, func(ctx context.Context) error {
		view, err := helmclient.Snapshot(ctx, fleetCluster(c, cluster).Config(), helmclient.Scope{Namespaces: []string{namespace}})
		if err != nil {
			return err
		}
		if left := slices.Sorted(maps.Keys(view)); !slices.Equal(left, slices.Sorted(slices.Values(want))) {
			return fmt.Errorf("there is %v, and not %v", left, want)
		}
		return nil
	})
}
