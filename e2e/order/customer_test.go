package order

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/apis"
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/customerkubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

var customers atomic.Int64

// customer is what a test has for itself: a namespace of the management cluster.
type customer struct {
	*testing.T
	namespace string
}

// clusters is the namespace in which Daytwo makes the Clusters of a customer.
func (c *customer) clusters() string { return c.namespace + topology.DefaultClusterNamespaceSuffix }

// newCustomer makes a namespace. After the test, everything in it goes.
func newCustomer(t *testing.T) *customer {
	t.Helper()
	c := &customer{T: t, namespace: fmt.Sprintf("customer-%d", customers.Add(1))}
	must(t, env.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}))
	t.Cleanup(c.leave)
	return c
}

// leave takes the customer away, whatever state the test left things in.
func (c *customer) leave() {
	ctx := context.Background()
	if env.Manager.PID() == 0 {
		must(c, env.Manager.Start(ctx))
	}
	must(c, env.Fleet.StartClusterAPI(ctx))
	inNamespace := client.InNamespace(c.namespace)
	must(c, env.Admin.DeleteAllOf(ctx, &addonsv1alpha1.SaaSAddon{}, inNamespace))
	must(c, env.Admin.DeleteAllOf(ctx, &tenancyv1alpha1.TenantCluster{}, inNamespace))
	ordered := client.InNamespace(c.clusters())
	must(c, env.Admin.DeleteAllOf(ctx, &clusterv1.Cluster{}, ordered))
	expect.Eventually(c, "the customer's clusters are gone", func(ctx context.Context) error {
		for _, list := range []client.ObjectList{&tenancyv1alpha1.TenantClusterList{}, &addonsv1alpha1.SaaSAddonList{}} {
			if err := none(ctx, list, inNamespace); err != nil {
				return err
			}
		}
		return none(ctx, &clusterv1.ClusterList{}, ordered)
	})
	must(c, client.IgnoreNotFound(env.Admin.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}})))
}

func none(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := env.Admin.List(ctx, list, options...); err != nil {
		return err
	}
	switch found := list.(type) {
	case *tenancyv1alpha1.TenantClusterList:
		if len(found.Items) > 0 {
			return fmt.Errorf("TenantCluster %s is there: %s", found.Items[0].Name, expect.Describe(found.Items[0].Status.Conditions))
		}
	case *clusterv1.ClusterList:
		if len(found.Items) > 0 {
			return fmt.Errorf("Cluster %s is there: %s", found.Items[0].Name, expect.Describe(found.Items[0].Status.Conditions))
		}
	case *addonsv1alpha1.SaaSAddonList:
		if len(found.Items) > 0 {
			return fmt.Errorf("SaaSAddon %s is there: %s", found.Items[0].Name, expect.Describe(found.Items[0].Status.Conditions))
		}
	}
	return nil
}

// oldVersion and newVersion are an upgrade apart.
func oldVersion() string { return env.Fleet.KubernetesVersions()[0] }

func newVersion() string {
	versions := env.Fleet.KubernetesVersions()
	return versions[len(versions)-1]
}

// order returns a TenantCluster that is not created yet: a cluster without workers, in the older version.
func (c *customer) order(name string) *tenancyv1alpha1.TenantCluster {
	return &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name, Labels: map[string]string{"tier": "gold"}},
		Spec: tenancyv1alpha1.TenantClusterSpec{Topology: &tenancyv1alpha1.ClusterTopology{
			ClassRef: tenancyv1alpha1.ClusterClassReference{Namespace: localfleet.ClassNamespace, Name: "small"},
			Version:  oldVersion(),
		}},
	}
}

func (c *customer) create(object client.Object) {
	c.Helper()
	must(c, env.Admin.Create(c.Context(), object))
}

func (c *customer) get(name string) *tenancyv1alpha1.TenantCluster {
	c.Helper()
	cluster := &tenancyv1alpha1.TenantCluster{}
	must(c, env.Admin.Get(c.Context(), client.ObjectKey{Namespace: c.namespace, Name: name}, cluster))
	return cluster
}

// change changes a TenantCluster's spec or metadata, whatever else changes it meanwhile. The API server ends a request
// after a minute, which a machine that does much else may take for one: such a request is made again, as kubectl's user would.
func (c *customer) change(name string, how func(*tenancyv1alpha1.TenantCluster)) {
	c.Helper()
	must(c, retry.OnError(retry.DefaultBackoff, apierrors.IsTimeout, func() error {
		cluster := c.get(name)
		before := cluster.DeepCopy()
		how(cluster)
		return env.Admin.Patch(c.Context(), cluster, client.MergeFrom(before))
	}))
}

func (c *customer) await(name, condition string, status metav1.ConditionStatus, reason string) *tenancyv1alpha1.TenantCluster {
	c.Helper()
	cluster := &tenancyv1alpha1.TenantCluster{}
	expect.Eventually(c, fmt.Sprintf("%s is %s=%s", name, condition, status), func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, cluster); err != nil {
			return err
		}
		if cluster.Status.ObservedGeneration != cluster.Generation {
			return fmt.Errorf("generation %d is not observed", cluster.Generation)
		}
		return expect.Condition(cluster.Status.Conditions, condition, status, reason)
	})
	return cluster
}

func (c *customer) awaitReady(name string) *tenancyv1alpha1.TenantCluster {
	c.Helper()
	return c.await(name, metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
}

// awaitVersion waits until an upgrade is over.
func (c *customer) awaitVersion(name, version string) {
	c.Helper()
	expect.Eventually(c, name+" has version "+version, func(context.Context) error {
		cluster := c.get(name)
		if cluster.Status.Version != version || cluster.Status.Upgrade != nil {
			return fmt.Errorf("it has %s, upgrade %v: %s", cluster.Status.Version, cluster.Status.Upgrade, expect.Describe(cluster.Status.Conditions))
		}
		return nil
	})
	c.awaitReady(name)
}

func (c *customer) awaitGone(object client.Object) {
	c.Helper()
	expect.Eventually(c, fmt.Sprintf("%T %s is gone", object, object.GetName()), func(ctx context.Context) error {
		err := env.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if cluster, ok := object.(*tenancyv1alpha1.TenantCluster); ok {
			return fmt.Errorf("it is there: %s, %w", expect.Describe(cluster.Status.Conditions), err)
		}
		return fmt.Errorf("it is there, with finalizers %v, %w", object.GetFinalizers(), err)
	})
}

// workload connects to an ordered cluster with the kubeconfig that the customer gets.
func (c *customer) workload(name string) client.Client {
	c.Helper()
	secret := &corev1.Secret{}
	must(c, env.Admin.Get(c.Context(), client.ObjectKey{Namespace: c.namespace, Name: customerkubeconfig.SecretName(name)}, secret))
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data[customerkubeconfig.Key])
	must(c, err)
	config.QPS = -1
	workload, err := client.New(config, client.Options{Scheme: apis.NewScheme()})
	must(c, err)
	return workload
}

// install makes an add-on of one ConfigMap, "settings" in namespace default, in all of the customer's clusters.
func (c *customer) install(name string, more ...string) {
	c.Helper()
	settings := "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {version: \"{{ .Cluster.Version }}\"}}"
	c.create(&addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}}, Namespace: "default",
			// Tests put finalizers on objects, which would be taken back.
			Drift:  metav1alpha1.DriftPolicy{Mode: metav1alpha1.DriftReport},
			Source: addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: strings.Join(append(more, settings), "\n---\n")}},
		},
	})
}

// awaitSettings waits for the add-on's ConfigMap with a version in it.
func (c *customer) awaitSettings(cluster, version string) *corev1.ConfigMap {
	c.Helper()
	settings := &corev1.ConfigMap{}
	workload := c.workload(cluster)
	expect.Eventually(c, "the add-on is in "+cluster, func(ctx context.Context) error {
		if err := workload.Get(ctx, client.ObjectKey{Namespace: "default", Name: "settings"}, settings); err != nil {
			return err
		}
		if settings.Data["version"] != version {
			return fmt.Errorf("it is of version %s, not %s", settings.Data["version"], version)
		}
		return nil
	})
	return settings
}

// minor is "1.36" of "v1.36.3".
func minor(version string) string {
	return strings.Join(strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)[:2], ".")
}
