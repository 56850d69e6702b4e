package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// tierLabel is on the TenantClusters of a customer that its add-ons select.
const tierLabel, tier = "tier", "gold"

var customers atomic.Int64

// customer is what a test has for itself: a namespace of the management cluster, and TenantClusters in
// it that are named after the clusters that they lead to.
type customer struct {
	*testing.T
	namespace string
	clusters  lent
}

// newCustomer borrows clusters and registers them. After the test, everything of the customer goes.
func newCustomer(t *testing.T, full, bare int) *customer {
	t.Helper()
	borrowed := clusters.take(full, bare)
	t.Cleanup(func() { clusters.giveBack(borrowed) })
	return moveIn(t, borrowed)
}

// moveIn registers clusters that are borrowed already. After the test, everything of the customer goes.
func moveIn(t *testing.T, borrowed lent) *customer {
	t.Helper()
	return moveInto(t, fmt.Sprintf("customer-%d", customers.Add(1)), borrowed)
}

// moveInto does so in a namespace of that name.
func moveInto(t *testing.T, namespace string, borrowed lent) *customer {
	t.Helper()
	c := &customer{T: t, namespace: namespace, clusters: borrowed}
	must(t, env.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}))
	t.Cleanup(c.leave)
	for _, name := range c.clusters.all() {
		must(t, env.Register(t.Context(), c.namespace, name, map[string]string{tierLabel: tier}))
	}
	for _, name := range c.clusters.all() {
		c.awaitCluster(name, metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
	}
	return c
}

// in is the customer in a part of the test.
func (c *customer) in(t *testing.T) *customer {
	part := *c
	part.T = t
	return &part
}

// leave takes the customer away, whatever state the test left things in.
func (c *customer) leave() {
	ctx := context.Background()
	if env.Manager.PID() == 0 {
		must(c, env.Manager.Start(ctx))
	}
	for _, name := range c.clusters.all() {
		cluster, err := env.Fleet.Cluster(name)
		must(c, err)
		must(c, cluster.Start(ctx))
	}
	inNamespace := client.InNamespace(c.namespace)
	must(c, env.Admin.DeleteAllOf(ctx, &addonsv1alpha1.SaaSAddon{}, inNamespace))
	expect.Eventually(c, "the customer's add-ons are gone", func(ctx context.Context) error {
		return none(ctx, env.Admin, &addonsv1alpha1.SaaSAddonList{}, inNamespace)
	})
	must(c, env.Admin.DeleteAllOf(ctx, &tenancyv1alpha1.TenantCluster{}, inNamespace))
	expect.Eventually(c, "the customer's clusters are let go", func(ctx context.Context) error {
		return none(ctx, env.Admin, &tenancyv1alpha1.TenantClusterList{}, inNamespace)
	})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	must(c, client.IgnoreNotFound(env.Admin.Delete(ctx, namespace)))
}

// none complains about what a list finds.
func none(ctx context.Context, c client.Client, list client.ObjectList, options ...client.ListOption) error {
	if err := c.List(ctx, list, options...); err != nil {
		return err
	}
	return noItems(list)
}

func (c *customer) workload(cluster string) client.WithWatch {
	c.Helper()
	workload, err := env.Workload(cluster)
	must(c, err)
	return workload
}

// newAddon is not created yet. Where pods run, it gets a namespace of its own.
func (c *customer) newAddon(name, manifests string) *addonsv1alpha1.SaaSAddon {
	addon := &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{tierLabel: tier}}},
			Namespace:  "default",
			Source:     addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: manifests}},
		},
	}
	if len(c.clusters.full) > 0 && len(c.clusters.bare) == 0 {
		addon.Spec.Namespace, addon.Spec.CreateNamespace = name, true
	}
	return addon
}

// install creates an add-on and waits until it is ready.
func (c *customer) install(name, manifests string) *addonsv1alpha1.SaaSAddon {
	c.Helper()
	addon := c.newAddon(name, manifests)
	must(c, env.Admin.Create(c.Context(), addon))
	c.awaitReady(addon)
	return addon
}

// change patches what an add-on declares.
func (c *customer) change(addon *addonsv1alpha1.SaaSAddon, manifests string) {
	c.Helper()
	before := addon.DeepCopy()
	addon.Spec.Source.Manifests.Inline = manifests
	must(c, env.Admin.Patch(c.Context(), addon, client.MergeFrom(before)))
}

// withReleases adds what the releases of an add-on say to what is wrong with it.
func (c *customer) withReleases(addon *addonsv1alpha1.SaaSAddon, wrong error) error {
	if wrong == nil {
		return nil
	}
	text := wrong.Error()
	for _, release := range c.releases(addon) {
		for _, condition := range release.Status.Conditions {
			text += fmt.Sprintf("\n  %s: %s=%s (%s) %s", release.Name, condition.Type, condition.Status, condition.Reason, condition.Message)
		}
	}
	return errors.New(text)
}

// awaitReady waits for the add-on's own word, and then takes its targets by it.
func (c *customer) awaitReady(addon *addonsv1alpha1.SaaSAddon) {
	c.Helper()
	expect.Eventually(c, "SaaSAddon "+addon.Name+" is ready", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(addon), addon); err != nil {
			return err
		}
		if addon.Status.ObservedGeneration != addon.Generation {
			return fmt.Errorf("generation %d was seen, of %d", addon.Status.ObservedGeneration, addon.Generation)
		}
		return c.withReleases(addon, expect.Condition(addon.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionTrue, ""))
	})
	for _, release := range c.releases(addon) {
		if release.Status.Revision != addon.Status.Revision {
			c.Errorf("SaaSAddon %s is ready while %s has revision %q, not %s", addon.Name, release.Name, release.Status.Revision, addon.Status.Revision)
		}
		if err := expect.Condition(release.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionTrue, ""); err != nil {
			c.Errorf("SaaSAddon %s is ready while %s is not: %v", addon.Name, release.Name, err)
		}
	}
}

func (c *customer) releases(addon *addonsv1alpha1.SaaSAddon) []addonsv1alpha1.AddonRelease {
	c.Helper()
	list := &addonsv1alpha1.AddonReleaseList{}
	must(c, env.Admin.List(c.Context(), list, client.InNamespace(c.namespace), client.MatchingLabels{metav1alpha1.LabelPolicy: addon.Name}))
	return list.Items
}

// findRelease finds the add-on in one cluster.
func (c *customer) findRelease(ctx context.Context, addon *addonsv1alpha1.SaaSAddon, cluster string) (*addonsv1alpha1.AddonRelease, error) {
	list := &addonsv1alpha1.AddonReleaseList{}
	err := env.Admin.List(ctx, list, client.InNamespace(c.namespace),
		client.MatchingLabels{metav1alpha1.LabelPolicy: addon.Name, metav1alpha1.LabelCluster: cluster})
	if err == nil && len(list.Items) != 1 {
		err = fmt.Errorf("there are %d AddonReleases of %s in %s", len(list.Items), addon.Name, cluster)
	}
	if err != nil {
		return nil, err
	}
	return &list.Items[0], nil
}

// awaitRelease waits for something about the add-on in one cluster.
func (c *customer) awaitRelease(
	addon *addonsv1alpha1.SaaSAddon, cluster, what string, check func(*addonsv1alpha1.AddonRelease) error,
) *addonsv1alpha1.AddonRelease {
	c.Helper()
	var release *addonsv1alpha1.AddonRelease
	expect.Eventually(c, fmt.Sprintf("%s in %s: %s", addon.Name, cluster, what), func(ctx context.Context) error {
		var err error
		if release, err = c.findRelease(ctx, addon, cluster); err != nil {
			return err
		}
		return check(release)
	})
	return release
}

func (c *customer) awaitReleaseCondition(
	addon *addonsv1alpha1.SaaSAddon, cluster, condition string, is metav1.ConditionStatus, reason string,
) *addonsv1alpha1.AddonRelease {
	c.Helper()
	what := fmt.Sprintf("%s is %s (%s)", condition, is, reason)
	return c.awaitRelease(addon, cluster, what, func(release *addonsv1alpha1.AddonRelease) error {
		return expect.Condition(release.Status.Conditions, condition, is, reason)
	})
}

// awaitAddonCondition waits for a condition whose message has all these words.
func (c *customer) awaitAddonCondition(
	addon *addonsv1alpha1.SaaSAddon, condition string, is metav1.ConditionStatus, reason string, words ...string,
) {
	c.Helper()
	c.awaitAddonMessage(addon, condition, is, reason, func(told string) error { return says(told, words...) })
}

// awaitAddonMessage waits until the message of an add-on's condition is as wanted.
func (c *customer) awaitAddonMessage(
	addon *addonsv1alpha1.SaaSAddon, condition string, is metav1.ConditionStatus, reason string, check func(told string) error,
) {
	c.Helper()
	expect.Eventually(c, fmt.Sprintf("SaaSAddon %s: %s is %s (%s)", addon.Name, condition, is, reason), func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(addon), addon); err != nil {
			return err
		}
		if err := expect.Condition(addon.Status.Conditions, condition, is, reason); err != nil {
			return err
		}
		return check(message(addon.Status.Conditions, condition))
	})
}

func (c *customer) awaitCluster(name, condition string, is metav1.ConditionStatus, reason string, words ...string) {
	c.Helper()
	cluster := &tenancyv1alpha1.TenantCluster{}
	expect.Eventually(c, fmt.Sprintf("TenantCluster %s: %s is %s (%s)", name, condition, is, reason), func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, cluster); err != nil {
			return err
		}
		if err := expect.Condition(cluster.Status.Conditions, condition, is, reason); err != nil {
			return err
		}
		return says(message(cluster.Status.Conditions, condition), words...)
	})
}

// says complains about what a text lacks.
func says(text string, words ...string) error {
	var missing []error
	for _, word := range words {
		if !strings.Contains(text, word) {
			missing = append(missing, fmt.Errorf("it does not say %q: %s", word, text))
		}
	}
	return errors.Join(missing...)
}

// uninstall deletes an add-on and waits until it is gone.
func (c *customer) uninstall(addon *addonsv1alpha1.SaaSAddon) {
	c.Helper()
	must(c, env.Admin.Delete(c.Context(), addon))
	waitGone(c, env.Admin, addon)
}
