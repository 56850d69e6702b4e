package saasaddon

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/targetstate"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// customer is a namespace of the management cluster. The test plays the other controllers: it
// writes the status of TenantClusters and AddonReleases.
type customer struct {
	*testing.T
	client.Client
	ctx       context.Context
	namespace string
}

func newCustomer(t *testing.T) *customer {
	t.Helper()
	c := &customer{T: t, Client: newClient(t, newManagement(t)), ctx: t.Context()}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "customer-"}}
	c.must(c.Create(c.ctx, namespace))
	c.namespace = namespace.Name
	return c
}

func (c *customer) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// awaitBeingDeleted waits until a target is being deleted, and reads it.
func (c *customer) awaitBeingDeleted(target *addonsv1alpha1.AddonRelease) {
	c.Helper()
	c.eventually("the target is being deleted", func() error {
		c.reload(target)
		if target.DeletionTimestamp.IsZero() {
			return fmt.Errorf("it is not")
		}
		return nil
	})
}

// eventually waits until check finds nothing wrong.
func (c *customer) eventually(what string, check func() error) {
	c.Helper()
	expect.EventuallyIn(c.ctx, c, what, func(context.Context) error { return check() })
}

func (c *customer) addCluster(name string, labels map[string]string) *tenancyv1alpha1.TenantCluster {
	c.Helper()
	cluster := &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name, Labels: labels},
		Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: name}},
	}
	c.must(c.Create(c.ctx, cluster))
	c.connect(cluster, metav1.ConditionTrue)
	return cluster
}

func (c *customer) connect(cluster *tenancyv1alpha1.TenantCluster, connected metav1.ConditionStatus) {
	c.Helper()
	reason := tenancyv1alpha1.ReasonConnected
	if connected == metav1.ConditionFalse {
		reason = tenancyv1alpha1.ReasonUnreachable
	}
	meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{Type: tenancyv1alpha1.ConditionConnected, Status: connected, Reason: reason})
	cluster.Status.Version = "v1.36.3"
	c.must(c.Status().Update(c.ctx, cluster))
}

// addAddon creates an add-on of all the customer's clusters, unless change says otherwise.
func (c *customer) addAddon(change func(*addonsv1alpha1.SaaSAddon)) *addonsv1alpha1.SaaSAddon {
	c.Helper()
	addon := &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "cache"},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: &metav1.LabelSelector{}},
			Source:     addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: "one"}},
		},
	}
	change(addon)
	c.must(c.Create(c.ctx, addon))
	return addon
}

func (c *customer) change(addon *addonsv1alpha1.SaaSAddon, change func(*addonsv1alpha1.SaaSAddon)) {
	c.Helper()
	c.reload(addon)
	base := addon.DeepCopy()
	change(addon)
	c.must(c.Patch(c.ctx, addon, client.MergeFrom(base)))
}

func (c *customer) reload(object client.Object) {
	c.Helper()
	c.must(c.Get(c.ctx, client.ObjectKeyFromObject(object), object))
}

func (c *customer) targets() []addonsv1alpha1.AddonRelease {
	c.Helper()
	targets := &addonsv1alpha1.AddonReleaseList{}
	c.must(c.List(c.ctx, targets, client.InNamespace(c.namespace)))
	return targets.Items
}

// awaitTargets waits for so many targets at the add-on's current revision, and returns them.
func (c *customer) awaitTargets(addon *addonsv1alpha1.SaaSAddon, count int) []addonsv1alpha1.AddonRelease {
	c.Helper()
	var targets []addonsv1alpha1.AddonRelease
	c.eventually(fmt.Sprintf("%d targets", count), func() error {
		c.reload(addon)
		targets = nil
		for _, target := range c.targets() {
			if target.Spec.Revision == addon.Status.Revision {
				targets = append(targets, target)
			}
		}
		if len(targets) != count || addon.Status.ObservedGeneration != addon.Generation {
			return fmt.Errorf("found %d at %q", len(targets), addon.Status.Revision)
		}
		return nil
	})
	return targets
}

// say writes a target's Ready condition for its current generation. A conflict is no error: the
// caller looks again.
func (c *customer) say(target *addonsv1alpha1.AddonRelease, status metav1.ConditionStatus, reason string) {
	c.Helper()
	meta.SetStatusCondition(&target.Status.Conditions, metav1.Condition{
		Type: metav1alpha1.ConditionReady, Status: status, Reason: reason, Message: "as the test says",
		ObservedGeneration: target.Generation,
	})
	if err := c.Status().Update(c.ctx, target); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		c.Fatal(err)
	}
}

// removeFinalizer does what the target's controller does last.
func (c *customer) removeFinalizer(target *addonsv1alpha1.AddonRelease) {
	c.Helper()
	base := target.DeepCopy()
	target.Finalizers = nil
	c.must(client.IgnoreNotFound(c.Patch(c.ctx, target, client.MergeFrom(base))))
}

// awaitCondition waits for a condition of the add-on for its current generation, whose message contains all of the parts.
func (c *customer) awaitCondition(addon *addonsv1alpha1.SaaSAddon, kind string, status metav1.ConditionStatus, reason string, parts ...string) {
	c.Helper()
	c.eventually(fmt.Sprintf("%s=%s/%s", kind, status, reason), func() error {
		c.reload(addon)
		found := meta.FindStatusCondition(addon.Status.Conditions, kind)
		if found == nil || found.Status != status || found.Reason != reason || found.ObservedGeneration != addon.Generation {
			return fmt.Errorf("it is %+v", found)
		}
		for _, part := range parts {
			if !strings.Contains(found.Message, part) {
				return fmt.Errorf("message %q lacks %q", found.Message, part)
			}
		}
		return nil
	})
}

func isReady(target *addonsv1alpha1.AddonRelease) bool {
	ready := targetstate.CurrentCondition(target, metav1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue
}
