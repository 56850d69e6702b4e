package clusternamespace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daytwo-dev/daytwo/apis"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const managerUser = "daytwo-manager"

var admin client.Client

// TestMain starts a management cluster with Cluster API's definitions, and the controller with its generated role.
func TestMain(m *testing.M) {
	os.Exit(fixture.Main(m, 0, func(ctx context.Context, dir string) (func() error, error) {
		fleet, err := fixture.StartFleet(ctx, dir, localfleet.Options{}, "../../../config/manager/namespace.yaml", "../../../config/crd/bases", "../../../config/rbac/role.yaml")
		if err != nil {
			return nil, err
		}
		stop, err := start(ctx, fleet)
		if err != nil {
			return fleet.Close, err
		}
		return func() error { return errors.Join(stop(), fleet.Close()) }, nil
	}))
}

func start(ctx context.Context, fleet *localfleet.Fleet) (stop func() error, err error) {
	if err := fleet.InstallClusterAPI(ctx); err != nil {
		return nil, err
	}
	if admin, err = client.New(fleet.Management().Config(), client.Options{Scheme: apis.NewScheme()}); err != nil {
		return nil, err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: managerUser}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: managerUser}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "daytwo-manager"},
	}
	if err := admin.Create(ctx, binding); err != nil {
		return nil, err
	}
	content, err := fleet.Management().KubeconfigFor(managerUser, nil, time.Hour)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: apis.NewScheme(), Cache: cache.Options{ByObject: optionalkind.CacheOptions()}, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, err
	}
	if err := SetupWithManager(mgr, Options{Orders: topology.Options{Installation: installation}}); err != nil {
		return nil, err
	}
	return fixture.Background(mgr.Start), nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newCustomer(t *testing.T) *corev1.Namespace {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "customer-"}}
	must(t, admin.Create(t.Context(), namespace))
	return namespace
}

func newOrder(namespace string) *tenancyv1alpha1.TenantCluster {
	return &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prod"},
		Spec: tenancyv1alpha1.TenantClusterSpec{Topology: &tenancyv1alpha1.ClusterTopology{
			ClassRef: tenancyv1alpha1.ClusterClassReference{Name: "small"}, Version: "v1.36.3",
		}},
	}
}

func awaitNamespace(t *testing.T, name string) *corev1.Namespace {
	t.Helper()
	namespace := &corev1.Namespace{}
	expect.Eventually(t, "namespace "+name+" is there", func(ctx context.Context) error {
		return admin.Get(ctx, client.ObjectKey{Name: name}, namespace)
	})
	return namespace
}

func awaitGone(t *testing.T, name string) {
	t.Helper()
	expect.Eventually(t, "namespace "+name+" is gone", func(ctx context.Context) error {
		namespace := &corev1.Namespace{}
		err := admin.Get(ctx, client.ObjectKey{Name: name}, namespace)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there, deleted at %s: %w", namespace.DeletionTimestamp, err)
	})
}

// settled waits until the controller has done what there was to do: an order made afterwards has its namespace.
func settled(t *testing.T) {
	t.Helper()
	other := newCustomer(t)
	must(t, admin.Create(t.Context(), newOrder(other.Name)))
	awaitNamespace(t, other.Name+"-clusters")
}

func TestANamespaceComesWithTheFirstOrderAndGoesAfterTheLast(t *testing.T) {
	t.Parallel()
	owner := newCustomer(t)
	order := newOrder(owner.Name)
	must(t, admin.Create(t.Context(), order))
	made := awaitNamespace(t, owner.Name+"-clusters")
	if made.Labels[metav1alpha1.LabelClustersOf] != string(owner.UID) {
		t.Errorf("its labels are %v", made.Labels)
	}
	must(t, admin.Delete(t.Context(), order))
	awaitGone(t, made.Name)
}

func TestANamespaceStaysUntilItsClustersAndWhatOthersPutThereAreGone(t *testing.T) {
	t.Parallel()
	owner := newCustomer(t)
	order := newOrder(owner.Name)
	must(t, admin.Create(t.Context(), order))
	made := awaitNamespace(t, owner.Name+"-clusters")
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: made.Name, Name: "prod", Finalizers: []string{"example.com/machines"}}}
	cluster.Spec.Topology.ClassRef = clusterv1.ClusterClassRef{Namespace: "daytwo-classes", Name: "small"}
	cluster.Spec.Topology.Version = "v1.36.3"
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: made.Name, Name: "cloud-credentials"}}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: made.Name, Name: "clusters"}}
	must(t, admin.Create(t.Context(), cluster))
	must(t, admin.Create(t.Context(), theirs))
	must(t, admin.Create(t.Context(), quota))
	stands := func(while string) {
		t.Helper()
		settled(t)
		must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(made), made))
		if !made.DeletionTimestamp.IsZero() {
			t.Fatalf("it goes while %s", while)
		}
	}

	must(t, admin.Delete(t.Context(), order))
	stands("a Cluster is there")
	must(t, admin.Delete(t.Context(), cluster))
	stands("its Cluster goes")
	must(t, admin.Patch(t.Context(), cluster, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	stands("somebody's Secret is there")
	must(t, admin.Delete(t.Context(), theirs))
	stands("the provider's quota is there")

	// Whoever orders again has the same quota. Without it, the namespace goes after the next order.
	again := newOrder(owner.Name)
	must(t, admin.Create(t.Context(), again))
	stands("something is on order again")
	must(t, admin.Delete(t.Context(), quota))
	must(t, admin.Delete(t.Context(), again))
	awaitGone(t, made.Name)
}

func TestANamespaceThatSomebodyElseMadeIsLeftAlone(t *testing.T) {
	t.Parallel()
	owner := newCustomer(t)
	theirs := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: owner.Name + "-clusters", Labels: map[string]string{metav1alpha1.LabelManagedBy: installation}}}
	must(t, admin.Create(t.Context(), theirs))
	order := newOrder(owner.Name)
	must(t, admin.Create(t.Context(), order))
	settled(t)
	must(t, admin.Delete(t.Context(), order))
	settled(t)
	found := &corev1.Namespace{}
	must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(theirs), found))
	if !found.DeletionTimestamp.IsZero() || found.Labels[metav1alpha1.LabelClustersOf] != "" {
		t.Errorf("it was touched: %v", found.ObjectMeta)
	}
	if state, err := Look(t.Context(), admin, owner.Name, topology.Options{Installation: installation}.Complete()); err != nil || state != Foreign {
		t.Errorf("its state is %d, %v", state, err)
	}
}

func TestANamespaceWithAClusterThatWasNotOrderedIsLabelled(t *testing.T) {
	t.Parallel()
	shared := newCustomer(t)
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: shared.Name, Name: "legacy"}}
	cluster.Spec.Topology.ClassRef = clusterv1.ClusterClassRef{Namespace: "daytwo-classes", Name: "small"}
	cluster.Spec.Topology.Version = "v1.36.3"
	must(t, admin.Create(t.Context(), cluster))
	expect.Eventually(t, "the namespace is labelled", func(ctx context.Context) error {
		found := &corev1.Namespace{}
		if err := admin.Get(ctx, client.ObjectKeyFromObject(shared), found); err != nil {
			return err
		}
		if found.Labels[metav1alpha1.LabelHoldsClusters] != "true" {
			return fmt.Errorf("its labels are %v", found.Labels)
		}
		return nil
	})
}
