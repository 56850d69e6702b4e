package controllers

import (
	"fmt"
	"strings"
	"testing"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Versions that a cluster is ordered in, and upgraded to.
const (
	olderCluster = "v1.35.4"
	newerCluster = "v1.36.3"
)

// clusterNamespace is where Daytwo makes the Clusters that are ordered in namespace default.
const clusterNamespace = "default-clusters"

// orderEnv has somebody who plays Cluster API, and somebody who watches.
type orderEnv struct {
	*crashEnv
	provider                   *provider
	tenants, clusters, targets *witness
	// steps of deletions.
	steps *witness
	// identity of the cluster that is ordered, again and again.
	identity string
}

// phases of the life of an ordered cluster that a manager is killed in.
func (w *orderEnv) phases() []lifePhase {
	return []lifePhase{
		{"order", w.order, w.isNotRunning},
		{"upgrade", w.upgrade, w.isNotRunning},
		{"deletion", w.deleteCluster, w.isNotGone},
	}
}

// TestKilledInTheLifeOfAnOrderedClusterItEndsWhereAnUndisturbedRunEnds lets clusters be ordered, upgraded and
// deleted one after the other. In the first, the manager is killed after the first write of each of the three, in
// the second after the second one, until it makes no more writes.
func TestKilledInTheLifeOfAnOrderedClusterItEndsWhereAnUndisturbedRunEnds(t *testing.T) {
	t.Parallel()
	w := newOrderEnv(t)
	undisturbed, _ := w.live("undisturbed", forever, w.phases(), w.describe, nil)
	lives := []string{"undisturbed"}
	killAfterEach(t, "", 0, sampledKills, func(t *testing.T, last int) bool {
		name := fmt.Sprintf("after-%d", last)
		lives = append(lives, name)
		w.t = t
		_, blew := w.live(name, last, w.phases(), w.describe, undisturbed)
		return blew
	})
	w.t = t
	for _, name := range lives {
		w.delete(name)
	}
	for _, name := range lives {
		w.await(func() string { return w.addonIsNotGone(name) })
		w.checkNothingLeaked(name)
	}
}

func newOrderEnv(t *testing.T) *orderEnv {
	t.Helper()
	w := &orderEnv{crashEnv: newEmptyEnv(t)}
	if err := w.fleet.InstallClusterAPI(t.Context()); err != nil {
		t.Fatal(err)
	}
	system := &corev1.Namespace{}
	if err := w.workload.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		t.Fatal(err)
	}
	w.identity = string(system.UID)
	w.tenants = newWitness(t, w.management, &tenancyv1alpha1.TenantClusterList{}, upgradeOnRecord)
	w.clusters = newWitness(t, w.management, &clusterv1.ClusterList{}, orderedVersion)
	w.targets = newWitness(t, w.management, &addonsv1alpha1.AddonReleaseList{}, nothing)
	w.steps = newWitness(t, w.management, &tenancyv1alpha1.TenantClusterList{}, deletionStep)
	w.provider = startProvider(t, w.crashEnv)
	w.start()
	return w
}

func upgradeOnRecord(object client.Object) string {
	status := object.(*tenancyv1alpha1.TenantCluster).Status
	if status.Upgrade == nil {
		return "with identity " + status.ClusterID
	}
	return fmt.Sprintf("with identity %s on the way from %s to %s", status.ClusterID, status.Upgrade.From, status.Upgrade.To)
}

func deletionStep(object client.Object) string {
	if deletion := object.(*tenancyv1alpha1.TenantCluster).Status.Deletion; deletion != nil {
		return string(deletion.Step)
	}
	return ""
}

func orderedVersion(object client.Object) string {
	return "in version " + object.(*clusterv1.Cluster).Spec.Topology.Version
}

// order makes an add-on, with something that is only in the cluster and something that is not, and orders the
// cluster for it.
func (w *orderEnv) order(name string) {
	w.t.Helper()
	manifests := strings.ReplaceAll(`apiVersion: v1
kind: ConfigMap
metadata: {name: NAME-settings}
data: {value: declared}
---
apiVersion: v1
kind: Service
metadata: {name: NAME-web}
spec: {type: LoadBalancer, ports: [{port: 80}], selector: {app: web}}
`, "NAME", name)
	for _, object := range []client.Object{
		&addonsv1alpha1.SaaSAddon{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: addonsv1alpha1.SaaSAddonSpec{
				PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{name}}, Namespace: "default",
				Source: addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: manifests}},
			},
		},
		&tenancyv1alpha1.TenantCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: tenancyv1alpha1.TenantClusterSpec{Topology: &tenancyv1alpha1.ClusterTopology{
				ClassRef: tenancyv1alpha1.ClusterClassReference{Name: "standard"}, Version: olderCluster,
			}},
		},
	} {
		if err := w.management.Create(w.t.Context(), object); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *orderEnv) upgrade(name string) {
	w.t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"topology":{"version":"`+newerCluster+`"}}}`))
	if err := w.management.Patch(w.t.Context(), tenantCluster(name), patch); err != nil {
		w.t.Fatal(err)
	}
}

func (w *orderEnv) deleteCluster(name string) {
	w.t.Helper()
	if err := w.management.Delete(w.t.Context(), tenantCluster(name)); err != nil {
		w.t.Fatal(err)
	}
}

func tenantCluster(name string) *tenancyv1alpha1.TenantCluster {
	return &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}
