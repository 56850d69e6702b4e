package webhooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daytwo-dev/daytwo/apis"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

const (
	configuration     = "../config/webhook/validating.yaml"
	providerNamespace = "daytwo-system"
	patienceOfTests   = 3 * time.Minute
)

// The tests share one API server, without Cluster API, which asks a manager that serves the webhooks and nothing
// else.
var (
	admin  client.Client
	served ctrl.Manager
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "webhooks")
	if err != nil {
		return 1, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	fleet, err := localfleet.Start(ctx, localfleet.Options{
		StateDir: dir, ClusterOptions: localfleet.ClusterOptions{Bare: true}, Progress: os.Stderr,
	})
	if err != nil {
		cancel()
		return 1, err
	}
	ended := make(chan error, 1)
	ended <- nil
	defer func() {
		cancel()
		err = errors.Join(err, <-ended, fleet.Close(), os.RemoveAll(dir))
	}()
	flags, err := install(ctx, fleet)
	if err != nil {
		return 1, err
	}
	if served, err = newManager(fleet.Management().Config(), flags); err != nil {
		return 1, err
	}
	<-ended
	go func() { ended <- served.Start(ctx) }()
	if err := awaitAnswers(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func install(ctx context.Context, fleet *localfleet.Fleet) (Flags, error) {
	config := fleet.Management().Config()
	config.WarningHandlerWithContext = warningCollector{}
	var err error
	if admin, err = client.New(config, client.Options{Scheme: apis.NewScheme()}); err != nil {
		return Flags{}, err
	}
	definitions, err := manifests.Load("../config/crd/bases")
	if err != nil {
		return Flags{}, err
	}
	if err := manifests.Apply(ctx, config, definitions); err != nil {
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
	return mgr, flags.Serve(mgr, Options{Installation: "test", ProviderNamespace: providerNamespace, Clock: clock.RealClock{}})
}

// awaitAnswers waits until the API server asks and is answered: until then it lets everything pass.
func awaitAnswers(ctx context.Context) error {
	bad := imported("default", "asked")
	bad.Spec.MaintenanceWindows = []tenancyv1alpha1.MaintenanceWindow{badWindow()}
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patienceOfTests, true, func(ctx context.Context) (bool, error) {
		return admin.Create(ctx, bad.DeepCopy(), client.DryRunAll) != nil, nil
	})
}

// imported is a TenantCluster that nobody ordered.
func imported(namespace, name string) *tenancyv1alpha1.TenantCluster {
	return &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &metav1alpha1.SecretKeyReference{Name: name}},
	}
}

func badWindow() tenancyv1alpha1.MaintenanceWindow {
	return tenancyv1alpha1.MaintenanceWindow{Schedule: "0 25 * * *", Duration: metav1.Duration{Duration: time.Hour}}
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
