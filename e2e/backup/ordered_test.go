package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/apis"
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/customerkubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// TestTheBadDay is the story for which all of this is there: a cluster on order is backed up, rehearsed in a cluster of the
// drill's own, lost with all its data, and recovered into another one by the steps that were rehearsed.
func TestTheBadDay(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	t.Cleanup(c.leaveOrdered)
	c.install("settings")
	c.order("prod")
	c.createSecret("storage-prod", c.storage.AccessKey, c.storage.SecretKey)
	c.awaitSettings("prod")
	policy := c.backedUp("prod", shop+strings.TrimSuffix(ofTheCluster, "\n"))

	given := c.newDrill(policy, "prod", backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillEphemeral})
	given.Name = "given-up"
	must(t, env.Admin.Create(t.Context(), given))
	abandoned := c.awaitOrderedFor(given)
	c.removeDrill(given)
	c.awaitGone(abandoned)

	rehearsal := c.drill(policy, "prod", backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillEphemeral})
	ordered := c.awaitOrderedFor(rehearsal)
	c.awaitVerdict(rehearsal, backupv1alpha1.DrillPassed)
	c.awaitGone(ordered)
	if releases := c.releasesIn(ordered.Name); len(releases) > 0 {
		t.Errorf("the cluster of the drill got %s", releases[0].Name)
	}
	c.removeDrill(rehearsal)

	c.order("prod-2")
	c.awaitSettings("prod-2")
	must(t, env.Fleet.Ordered(c.namespace+topology.DefaultClusterNamespaceSuffix, "prod").Destroy(t.Context()))
	lostAt := time.Now()
	recovery := c.newDrill(policy, "prod", backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillStandby, StandbyName: "prod-2"})
	recovery.Name = "prod-is-lost"
	recovery.Spec.Mode, recovery.Spec.Confirm, recovery.Spec.RequestedBy = backupv1alpha1.ModeRecover, "prod", c.whoAmI()
	must(t, env.Admin.Create(t.Context(), recovery))
	c.awaitVerdict(recovery, backupv1alpha1.DrillPassed)
	c.verifyRecovered("prod-2")
	c.verifyMeasured(recovery, lostAt)
	c.awaitEmpty("prod")
}

// verifyMeasured compares what a drill measured with a watch.
func (c *customer) verifyMeasured(drill *backupv1alpha1.DRDrill, since time.Time) {
	c.t.Helper()
	status := &drill.Status
	took, age := time.Since(since), status.StartedAt.Sub(status.Source.TakenAt.Time)
	if status.RecoveryTime.Duration > took+time.Second || status.RecoveryTime.Duration < status.RestoreTime.Duration {
		c.t.Errorf("the recovery took %s, the restore %s, by the watch %s", status.RecoveryTime.Duration, status.RestoreTime.Duration, took)
	}
	if status.DataAge.Duration != age {
		c.t.Errorf("the data is said to be %s old, and is %s", status.DataAge.Duration, age)
	}
}

// install makes an add-on of one ConfigMap in all clusters of the customer.
func (c *customer) install(name string) {
	c.t.Helper()
	must(c.t, env.Admin.Create(c.t.Context(), &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: &metav1.LabelSelector{}}, Namespace: "default",
			Source: addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}"}},
		},
	}))
}

// small is a cluster with one node.
func small() *tenancyv1alpha1.ClusterTopology {
	versions := env.Fleet.KubernetesVersions()
	return &tenancyv1alpha1.ClusterTopology{
		ClassRef: tenancyv1alpha1.ClusterClassReference{Namespace: localfleet.ClassNamespace, Name: "standard"}, Version: versions[len(versions)-1],
		Workers: []tenancyv1alpha1.TopologyWorkers{{Class: "default", Name: "main", Replicas: ptr.To[int32](1)}},
	}
}

// order has Cluster API make a cluster with a node.
func (c *customer) order(name string) {
	c.t.Helper()
	must(c.t, env.Admin.Create(c.t.Context(), &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name},
		Spec: tenancyv1alpha1.TenantClusterSpec{
			Topology: small(),
			// A cluster that was lost is not waited for when the test ends.
			Deletion: tenancyv1alpha1.DeletionPolicy{Timeout: &metav1.Duration{Duration: 10 * time.Second}},
		},
	}))
	expect.Eventually(c.t, "cluster "+name+" is Ready", func(ctx context.Context) error {
		cluster := &tenancyv1alpha1.TenantCluster{}
		if err := env.Admin.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, cluster); err != nil {
			return err
		}
		return expect.Condition(cluster.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
}

// ordered connects to a cluster on order as its administrator.
func (c *customer) ordered(name string) client.Client {
	c.t.Helper()
	secret := &corev1.Secret{}
	must(c.t, env.Admin.Get(c.t.Context(), client.ObjectKey{Namespace: c.namespace, Name: customerkubeconfig.SecretName(name)}, secret))
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	must(c.t, err)
	workload, err := client.New(config, client.Options{Scheme: apis.NewScheme()})
	must(c.t, err)
	return workload
}

// awaitOrderedFor waits until a drill has ordered its cluster.
func (c *customer) awaitOrderedFor(drill *backupv1alpha1.DRDrill) *tenancyv1alpha1.TenantCluster {
	c.t.Helper()
	list := &tenancyv1alpha1.TenantClusterList{}
	expect.Eventually(c.t, "the drill has ordered a cluster", func(ctx context.Context) error {
		if err := env.Admin.List(ctx, list, client.InNamespace(c.namespace), client.MatchingLabels{metav1alpha1.LabelDrillCluster: drill.Name}); err != nil {
			return err
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("%d clusters", len(list.Items))
		}
		return nil
	})
	return &list.Items[0]
}

func (c *customer) releasesIn(cluster string) []addonsv1alpha1.AddonRelease {
	c.t.Helper()
	list := &addonsv1alpha1.AddonReleaseList{}
	must(c.t, env.Admin.List(c.t.Context(), list, client.InNamespace(c.namespace), client.MatchingLabels{metav1alpha1.LabelCluster: cluster}))
	return list.Items
}

func (c *customer) awaitSettings(cluster string) {
	c.t.Helper()
	workload := c.workload(cluster)
	expect.Eventually(c.t, "the add-on is in "+cluster, func(ctx context.Context) error {
		return workload.Get(ctx, client.ObjectKey{Namespace: "default", Name: "settings"}, &corev1.ConfigMap{})
	})
}

// awaitEmpty waits until an empty cluster is in the place of the one that was lost, and looks whether anything was put there:
// it is another cluster.
func (c *customer) awaitEmpty(cluster string) {
	c.t.Helper()
	expect.Eventually(c.t, "another cluster is noticed in the place of "+cluster, func(ctx context.Context) error {
		found := &tenancyv1alpha1.TenantCluster{}
		if err := env.Admin.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: cluster}, found); err != nil {
			return err
		}
		return expect.Condition(found.Status.Conditions, tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionTrue, tenancyv1alpha1.ReasonIdentityChanged)
	})
	err := c.workload(cluster).Get(c.t.Context(), client.ObjectKey{Namespace: "default", Name: "settings"}, &corev1.ConfigMap{})
	if !apierrors.IsNotFound(err) {
		c.t.Errorf("the add-on was put into a cluster that is another one: %v", err)
	}
}

// leaveOrdered takes the policies and clusters of a customer away.
func (c *customer) leaveOrdered() {
	ctx, all := context.Background(), client.InNamespace(c.namespace)
	for _, one := range []client.Object{&backupv1alpha1.DRDrill{}, &backupv1alpha1.BackupPolicy{}, &addonsv1alpha1.SaaSAddon{}, &tenancyv1alpha1.TenantCluster{}} {
		must(c.t, env.Admin.DeleteAllOf(ctx, one, all))
	}
	expect.Eventually(c.t, "the customer's clusters are gone", func(ctx context.Context) error {
		list := &tenancyv1alpha1.TenantClusterList{}
		if err := env.Admin.List(ctx, list, all); err != nil {
			return err
		}
		if len(list.Items) > 0 {
			return errors.New(list.Items[0].Name + " is there: " + expect.Describe(list.Items[0].Status.Conditions))
		}
		return nil
	})
}
