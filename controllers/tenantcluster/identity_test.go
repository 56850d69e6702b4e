package tenantcluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

func identityOf(t *testing.T, cluster *localfleet.Cluster) string {
	t.Helper()
	direct, err := client.New(cluster.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{}
	if err := direct.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, namespace); err != nil {
		t.Fatal(err)
	}
	return string(namespace.UID)
}

func TestConnectedClusterIsRecordedAndReady(t *testing.T) {
	tenant := newTenant(t)
	tenant.imported("prod", shared.blue.Kubeconfig())
	tenant.waitReady("prod")

	cluster := tenant.get("prod")
	id := identityOf(t, shared.blue)
	if cluster.Status.ClusterID != id || cluster.Labels[metav1alpha1.LabelClusterID] != id {
		t.Errorf("recorded %q in status and %q as a label, want %q", cluster.Status.ClusterID, cluster.Labels[metav1alpha1.LabelClusterID], id)
	}
	if cluster.Status.Endpoint != shared.blue.Endpoint() || !strings.HasPrefix(cluster.Status.Version, "v1.") {
		t.Errorf("endpoint or version is wrong: %+v", cluster.Status)
	}
	if cluster.Status.ObservedGeneration != cluster.Generation {
		t.Errorf("observedGeneration is %d, want %d", cluster.Status.ObservedGeneration, cluster.Generation)
	}
	tenant.waitFor("prod", tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionFalse, tenancyv1alpha1.ReasonIdentityConfirmed)
}

func TestClusterThatIsRegisteredAlreadyIsRefusedUntilItIsFree(t *testing.T) {
	first, second := newTenant(t), newTenant(t)
	first.imported("prod", shared.blue.Kubeconfig())
	first.waitReady("prod")
	second.imported("mine", shared.blue.Kubeconfig())

	conflict := second.waitFor("mine", tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionTrue, tenancyv1alpha1.ReasonAlreadyRegistered)
	if strings.Contains(conflict.Message, first.namespace) || strings.Contains(conflict.Message, "prod") {
		t.Errorf("the message tells whose the cluster is: %s", conflict.Message)
	}
	second.waitFor("mine", metav1alpha1.ConditionReady, metav1.ConditionFalse, tenancyv1alpha1.ReasonAlreadyRegistered)
	if _, ok := shared.connections.Get(second.key("mine")); ok {
		t.Error("the second TenantCluster was admitted")
	}
	if _, ok := shared.connections.Get(first.key("prod")); !ok {
		t.Error("the first TenantCluster lost its cluster")
	}

	if err := first.admin.Delete(t.Context(), first.get("prod")); err != nil {
		t.Fatal(err)
	}
	second.waitReady("mine")
}

func TestOfTwoRegistrationsAtTheSameTimeOneIsServed(t *testing.T) {
	tenant := newTenant(t)
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		tenant.imported(name, shared.blue.Kubeconfig())
	}
	tenant.eventually("one is Ready and three are refused", func() (string, bool) {
		var found []string
		ready, refused := 0, 0
		for _, name := range names {
			for _, condition := range tenant.get(name).Status.Conditions {
				if condition.Type == metav1alpha1.ConditionReady {
					found = append(found, name+"="+condition.Reason)
				}
				if condition.Type == metav1alpha1.ConditionReady && condition.Status == metav1.ConditionTrue {
					ready++
				}
				if condition.Type == metav1alpha1.ConditionReady && condition.Reason == tenancyv1alpha1.ReasonAlreadyRegistered {
					refused++
				}
			}
		}
		return strings.Join(found, " "), ready == 1 && refused == 3
	})
}

func TestManagementClusterIsRefusedOutsideTheProvidersNamespace(t *testing.T) {
	customer := newTenant(t)
	customer.imported("self", shared.fleet.Management().Kubeconfig())
	customer.waitFor("self", tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionTrue, tenancyv1alpha1.ReasonManagementCluster)
	customer.waitFor("self", metav1alpha1.ConditionStalled, metav1.ConditionTrue, tenancyv1alpha1.ReasonManagementCluster)
	if id := customer.get("self").Status.ClusterID; id != "" {
		t.Errorf("recorded %s", id)
	}

	provider := *customer
	provider.namespace = providerNamespace
	t.Cleanup(provider.leave)
	provider.imported("self", shared.fleet.Management().Kubeconfig())
	provider.waitReady("self")
}

func TestIdentityChangeStopsWorkUntilItIsAccepted(t *testing.T) {
	tenant := newTenant(t)
	tenant.imported("prod", shared.blue.Kubeconfig())
	tenant.waitReady("prod")

	tenant.secret("prod", shared.green.Kubeconfig())
	conflict := tenant.waitFor("prod", tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionTrue, tenancyv1alpha1.ReasonIdentityChanged)
	green := identityOf(t, shared.green)
	if !strings.Contains(conflict.Message, metav1alpha1.AnnotationAcceptClusterID+": "+green) {
		t.Errorf("the message does not say how to accept the cluster: %s", conflict.Message)
	}
	if _, ok := shared.connections.Get(tenant.key("prod")); ok {
		t.Error("the other cluster is worked in")
	}
	if id := tenant.get("prod").Status.ClusterID; id != identityOf(t, shared.blue) {
		t.Errorf("the record changed to %s", id)
	}

	tenant.annotate("prod", metav1alpha1.AnnotationAcceptClusterID, green)
	tenant.waitReady("prod")
	if id := tenant.get("prod").Status.ClusterID; id != green {
		t.Errorf("the record is %s, want %s", id, green)
	}
}
