package saasaddon

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// shared is an add-on of the provider, with clusters of several customers.
type shared struct {
	*customer
	addon *addonsv1alpha1.SaaSAddon
	// customers by name, in the order of their namespaces.
	customers map[string]*customer
}

// newShared creates customers with so many clusters each, and an add-on of the provider in all of them.
func newShared(t *testing.T, clusters map[string]int, change func(*addonsv1alpha1.SaaSAddon)) *shared {
	t.Helper()
	provider := &customer{T: t, Client: newClient(t, newManagement(t)), ctx: t.Context(), namespace: providerNamespace}
	provider.must(client.IgnoreAlreadyExists(provider.Create(provider.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: providerNamespace}})))
	test := strconv.FormatInt(time.Now().UnixNano(), 36)
	labels := map[string]string{metav1alpha1.ProviderLabelPrefix + "test": test}
	s := &shared{customer: provider, customers: map[string]*customer{}}
	all := 0
	for name, count := range clusters {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name + "-" + test, Labels: labels}}
		provider.must(provider.Create(provider.ctx, namespace))
		one := *provider
		one.namespace = namespace.Name
		for i := range count {
			one.addCluster(fmt.Sprintf("c%02d", i), labels)
		}
		s.customers[name], all = &one, all+count
	}
	s.addon = provider.addAddon(func(a *addonsv1alpha1.SaaSAddon) {
		a.Name = "shared-" + test
		selector := &metav1.LabelSelector{MatchLabels: labels}
		a.Spec.ClusterSelector, a.Spec.ClusterNamespaceSelector = selector, selector
		a.Spec.Rollout.MaxConcurrent = int32(all * 3)
		if change != nil {
			change(a)
		}
	})
	return s
}

// releases are the add-on's targets in a customer's clusters.
func (s *shared) releases(name string) []addonsv1alpha1.AddonRelease {
	s.Helper()
	found := &addonsv1alpha1.AddonReleaseList{}
	s.must(s.List(s.ctx, found, client.InNamespace(s.namespace), client.MatchingLabels{
		metav1alpha1.LabelPolicy: s.addon.Name, metav1alpha1.LabelClusterNamespace: s.customers[name].namespace,
	}))
	return found.Items
}

// awaitReleases waits for so many targets in the customers' clusters that fulfil a condition, and makes those of the ready ones Ready.
func (s *shared) awaitReleases(what string, counts map[string]int, matches func(*addonsv1alpha1.AddonRelease) bool, ready ...string) {
	s.Helper()
	s.eventually(what, func() error {
		for _, name := range ready {
			releases := s.releases(name)
			for i := range releases {
				if !isReady(&releases[i]) {
					s.say(&releases[i], metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
				}
			}
		}
		for name, count := range counts {
			found := 0
			for _, release := range s.releases(name) {
				if slices.Contains(ready, name) && !isReady(&release) {
					return fmt.Errorf("%s is not Ready", release.Name)
				}
				if matches(&release) {
					found++
				}
			}
			if found != count {
				return fmt.Errorf("%d of %s", found, name)
			}
		}
		return nil
	})
}

func isThere(*addonsv1alpha1.AddonRelease) bool { return true }

func isLeaving(release *addonsv1alpha1.AddonRelease) bool { return !release.DeletionTimestamp.IsZero() }

// Of 50 clusters, ten are a customer's, come first, and never become Ready.
func TestTenNeverReadyClustersDelayNoOtherCustomer(t *testing.T) {
	s := newShared(t, map[string]int{"aaa": 10, "globex": 20, "initech": 20}, func(a *addonsv1alpha1.SaaSAddon) {
		a.Spec.Rollout = metav1alpha1.RolloutPolicy{MaxConcurrent: 10, MaxFailures: ptr.To[int32](0)}
	})
	s.awaitReleases("all of the others are reached, and a third of the slots is the first one's",
		map[string]int{"aaa": 3, "globex": 20, "initech": 20}, isThere, "globex", "initech")
	for _, release := range s.releases("aaa") {
		s.say(&release, metav1.ConditionFalse, metav1alpha1.ReasonFailed)
	}
	s.awaitCondition(s.addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonTargetsFailed, "failed in 3 clusters")

	s.change(s.addon, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Rollout.MaxFailures = nil })
	s.eventually("its slots return, since it is its clusters that fail", func() error {
		for _, release := range s.releases("aaa") {
			s.say(&release, metav1.ConditionFalse, metav1alpha1.ReasonFailed)
		}
		if count := len(s.releases("aaa")); count != 10 {
			return fmt.Errorf("%d are reached", count)
		}
		return nil
	})
}

func TestTenDeletionsOfOneCustomerHoldNoOthersBack(t *testing.T) {
	s := newShared(t, map[string]int{"acme": 20, "globex": 5}, nil)
	s.awaitReleases("all are reached", map[string]int{"acme": 20, "globex": 5}, isThere, "acme", "globex")
	acme, globex := s.customers["acme"], s.customers["globex"]
	acme.deleteClusters(10)
	held := s.awaitHeld("acme", 10)
	globex.deleteClusters(1)
	s.awaitReleases("the other one goes, and no more of the ten", map[string]int{"globex": 1, "acme": 10 - held}, isLeaving)

	confirm := func(value string) {
		s.change(s.addon, func(a *addonsv1alpha1.SaaSAddon) {
			a.Annotations = map[string]string{metav1alpha1.AnnotationConfirmWithdrawal: value}
		})
	}
	confirm(strconv.Itoa(held))
	s.eventually("a number without the namespace is spent, and confirms nothing", func() error {
		if s.reload(s.addon); s.addon.Status.Withdrawals.SpentConfirmation != strconv.Itoa(held) {
			return fmt.Errorf("spent is %q", s.addon.Status.Withdrawals.SpentConfirmation)
		}
		return nil
	})
	if still := s.awaitHeld("acme", 10); still != held {
		t.Errorf("%d are held back, not %d", still, held)
	}
	confirm(fmt.Sprintf("%s=%d", acme.namespace, held))
	s.awaitReleases("they go", map[string]int{"acme": 10}, isLeaving)
}

// awaitHeld waits until the guard holds back what is left of so many deletions of a customer, and returns how many that are. Some of
// them went before the others came.
func (s *shared) awaitHeld(name string, deleted int) (held int) {
	s.Helper()
	namespace := s.customers[name].namespace
	s.eventually("the guard holds deletions back", func() error {
		leaving := 0
		for _, release := range s.releases(name) {
			if isLeaving(&release) {
				leaving++
			}
		}
		held = deleted - leaving
		s.reload(s.addon)
		stalled := meta.FindStatusCondition(s.addon.Status.Conditions, metav1alpha1.ConditionStalled)
		if want := fmt.Sprintf("%q", fmt.Sprintf("%s=%d", namespace, held)); stalled == nil || !strings.Contains(stalled.Message, want) {
			return fmt.Errorf("%d of %s are leaving, and Stalled is %+v", leaving, name, stalled)
		}
		return nil
	})
	return held
}

// deleteClusters deletes the customer's first clusters, as far as a finalizer lets it.
func (c *customer) deleteClusters(count int) {
	c.Helper()
	for i := range count {
		cluster := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: fmt.Sprintf("c%02d", i)}}
		c.must(c.Delete(c.ctx, cluster))
	}
}

func TestACustomersSuspensionHoldsNoPolicyOfTheProvider(t *testing.T) {
	s := newShared(t, map[string]int{"acme": 1, "globex": 1}, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Suspend = true })
	cluster := &tenancyv1alpha1.TenantCluster{}
	acme := s.customers["acme"]
	suspend := func(name string, change func(*tenancyv1alpha1.TenantCluster)) {
		cluster = &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.customers[name].namespace, Name: "c00"}}
		s.reload(cluster)
		base := cluster.DeepCopy()
		change(cluster)
		s.must(s.Patch(s.ctx, cluster, client.MergeFrom(base)))
	}
	suspend("acme", func(c *tenancyv1alpha1.TenantCluster) {
		c.Spec.Suspend = true
		c.Annotations = map[string]string{metav1alpha1.AnnotationSuspendUntil: "2099-01-01T00:00:00Z"}
	})
	suspend("globex", func(c *tenancyv1alpha1.TenantCluster) {
		c.Annotations = map[string]string{metav1alpha1.AnnotationProviderSuspendUntil: "2099-01-01T00:00:00Z"}
	})
	own := acme.addAddon(func(*addonsv1alpha1.SaaSAddon) {})
	acme.awaitCondition(own, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonSuspended, "held back by suspension in 1 cluster (c00)")
	s.change(s.addon, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Suspend = false })
	s.awaitReleases("it goes on where the customer suspends", map[string]int{"acme": 1}, isThere, "acme")
	s.awaitCondition(s.addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonSuspended,
		"held back by suspension in 1 cluster ("+s.customers["globex"].namespace+"/c00)")
	if there := len(s.releases("globex")); there != 0 {
		t.Errorf("%d are where the provider suspends", there)
	}
	suspend("globex", func(c *tenancyv1alpha1.TenantCluster) { c.Annotations = nil })
	s.awaitReleases("it goes on there too", map[string]int{"globex": 1}, isThere, "globex")
	if stalled := meta.FindStatusCondition(own.Status.Conditions, metav1alpha1.ConditionStalled); stalled != nil {
		t.Errorf("the customer's own is Stalled: %+v", stalled)
	}
}

func TestACustomersGuardIsBoundedByTheProviders(t *testing.T) {
	c := newCustomer(t)
	addon, _ := c.addFleet(25)
	c.change(addon, func(a *addonsv1alpha1.SaaSAddon) {
		a.Spec.WithdrawalGuard = metav1alpha1.WithdrawalGuard{MaxClusters: 100000, MaxPercent: ptr.To[int32](100)}
	})
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonRollingOut,
		"spec.withdrawalGuard allows more than the provider, and counts as 10 clusters or 50 percent")
	c.change(addon, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.ClusterSelector.MatchLabels[tier] = "glod" })
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonWithdrawalGuard, "25 of 25 clusters", "the 12 allowed within an hour")
	c.awaitLost(0)
}

// The name of the first cluster's target is taken.
func TestATargetThatCannotBeCreatedTakesNoSlot(t *testing.T) {
	c := newCustomer(t)
	first, second := c.addCluster("a", nil), c.addCluster("b", nil)
	taken := &addonsv1alpha1.AddonRelease{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.namespace, Name: rollout.TargetName("cache", rollout.ClusterKey{Namespace: c.namespace, Name: first.Name}),
	}}
	taken.Spec.ClusterRef = metav1alpha1.ClusterReference{Namespace: c.namespace, Name: "another"}
	taken.Spec.Revision = "another"
	c.must(c.Create(c.ctx, taken))
	addon := c.addAddon(func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Rollout.MaxConcurrent = 1 })
	if target := c.awaitTargets(addon, 1)[0]; target.Spec.ClusterRef.Name != second.Name {
		t.Errorf("it is in %s", target.Spec.ClusterRef.Name)
	}
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonFailed, taken.Name+" is in the way")
}
