package webhooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daytwo-dev/daytwo/apis"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

const (
	configuration     = "../config/webhook/validating.yaml"
	providerNamespace = "daytwo-system"
)

// The tests share one API server, without Cluster API, which asks a manager that serves the webhooks and nothing
// else.
var (
	admin  client.Client
	served ctrl.Manager
	// renderer ends with the process of the tests.
	renderer = controllers.NewRenderer()
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == controllers.RenderWorker {
		os.Exit(controllers.RenderWorkerMain(os.Args[2:]))
	}
	os.Exit(fixture.Main(m, 0, start))
}

func start(ctx context.Context, dir string) (end func() error, err error) {
	bare := localfleet.Options{ClusterOptions: localfleet.ClusterOptions{Bare: true}}
	servers, err := fixture.StartFleet(ctx, dir, bare, "../config/crd/bases")
	if err != nil {
		return nil, err
	}
	flags, err := install(ctx, servers)
	if err != nil {
		return servers.Close, err
	}
	if served, err = newManager(servers.Management().Config(), flags); err != nil {
		return servers.Close, err
	}
	stop := fixture.Background(served.Start)
	return func() error { return errors.Join(stop(), servers.Close()) }, awaitAnswers(ctx)
}

func install(ctx context.Context, fleet *localfleet.Fleet) (Flags, error) {
	config := fleet.Management().Config()
	config.WarningHandlerWithContext = warningCollector{}
	var err error
	if admin, err = client.New(config, client.Options{Scheme: apis.NewScheme()}); err != nil {
		return Flags{}, err
	}
	configurations, err := manifests.Load(configuration)
	if err != nil {
		return Flags{}, err
	}
	where, err := fleet.InstallWebhooks(ctx, configurations)
	return Flags{address: where.Address, certDir: where.CertDir}, err
}

func newManager(config *rest.Config, flags Flags) (ctrl.Manager, error) {
	server, err := flags.Server()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: apis.NewScheme(), Metrics: metricsserver.Options{BindAddress: "0"}, WebhookServer: server,
	})
	if err != nil {
		return nil, err
	}
	return mgr, flags.Serve(mgr, Options{Orders: topology.Options{Installation: "test"}, ProviderNamespace: providerNamespace, BoundGuard: boundGuard, Clock: clock.RealClock{},
		Renderer: renderer, OnlyAPIServers: true,
	})
}

// awaitAnswers waits until the API server asks and is answered: until then it lets everything pass.
func awaitAnswers(ctx context.Context) error {
	bad := imported("default", "asked")
	bad.Spec.MaintenanceWindows = []metav1alpha1.RecurringWindow{badWindow()}
	return expect.Await(ctx, "the webhooks are asked", func(ctx context.Context) error {
		if err := admin.Create(ctx, bad.DeepCopy(), client.DryRunAll); err == nil {
			return errors.New("a bad maintenance window passes")
		}
		return nil
	})
}

// imported is a TenantCluster that nobody ordered.
func imported(namespace, name string) *tenancyv1alpha1.TenantCluster {
	return &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: name}},
	}
}

func badWindow() metav1alpha1.RecurringWindow {
	return metav1alpha1.RecurringWindow{Schedule: "0 25 * * *", Duration: metav1.Duration{Duration: time.Hour}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var namespaces atomic.Int64

func newNamespace(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("customer-%d", namespaces.Add(1))
	must(t, admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	return name
}

// expectRefusal wants an error that says all of the parts.
func expectRefusal(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("it is not refused, though it should be because of %v", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the refusal does not say %q: %v", part, err)
		}
	}
}

// boundGuard allows 10 clusters or 50 percent outside of the provider's namespace.
func boundGuard(namespace string, guard metav1alpha1.WithdrawalGuard) metav1alpha1.WithdrawalGuard {
	bound := metav1alpha1.WithdrawalGuard{
		MaxClusters: cmp.Or(guard.MaxClusters, metav1alpha1.DefaultWithdrawalMaxClusters),
		MaxPercent:  ptr.To(ptr.Deref(guard.MaxPercent, metav1alpha1.DefaultWithdrawalMaxPercent)),
	}
	if namespace != providerNamespace {
		bound.MaxClusters, *bound.MaxPercent = min(bound.MaxClusters, 10), min(*bound.MaxPercent, 50)
	}
	return bound
}
