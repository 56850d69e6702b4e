package tenantcluster

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daytwo-dev/daytwo/controllers/addonrelease"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/fleettest"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusternamespace"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const (
	providerNamespace = "daytwo-system"
	managerUser       = "daytwo-manager"
	expiryWarning     = 48 * time.Hour
)

// env is what the tests of this package share: a management cluster in which the manager runs with
// nothing but its generated role, and two workload clusters.
type env struct {
	fleet       *localfleet.Fleet
	blue, green *localfleet.Cluster
	connections *fleet.Fleet
	// admin may do anything in the management cluster.
	admin client.WithWatch
	// clock is the manager's.
	clock shiftedClock
	// log is all that the manager said.
	log spoken
}

var shared env

func TestMain(m *testing.M) { os.Exit(fixture.Main(m, 0, shared.start)) }

func (w *env) start(ctx context.Context, dir string) (end func() error, err error) {
	w.fleet, err = fixture.StartFleet(ctx, dir, localfleet.Options{}, "../../config/manager/namespace.yaml", "../../config/crd/bases", "../../config/rbac/role.yaml")
	if err != nil {
		return nil, err
	}
	if err := w.prepare(ctx); err != nil {
		return w.fleet.Close, err
	}
	mgr, err := w.manager(ctx)
	if err != nil {
		return w.fleet.Close, err
	}
	stop := fixture.Background(mgr.Start)
	return func() error {
		defer w.connections.Close()
		return errors.Join(stop(), w.fleet.Close())
	}, nil
}

func (w *env) prepare(ctx context.Context) (err error) {
	bare := localfleet.ClusterOptions{Bare: true}
	if w.blue, err = w.fleet.AddCluster(ctx, "blue", bare); err != nil {
		return err
	}
	if w.green, err = w.fleet.AddCluster(ctx, "green", bare); err != nil {
		return err
	}
	config := w.fleet.Management().Config()
	if w.admin, err = client.NewWithWatch(config, client.Options{Scheme: scheme()}); err != nil {
		return err
	}
	if err := w.installNotes(ctx); err != nil {
		return err
	}
	return w.admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: managerUser},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: managerUser}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "daytwo-manager"},
	})
}

// timeouts notice everything within a few seconds.
func timeouts() fleet.Timeouts {
	return fleet.Timeouts{
		Connect: 2 * time.Second, PingAfter: time.Second, Ping: time.Second, Probe: 5 * time.Second,
		Patience: 2 * time.Second, RetryMax: time.Minute, Request: 5 * time.Second,
	}
}

func (w *env) manager(ctx context.Context) (ctrl.Manager, error) {
	content, err := w.fleet.Management().KubeconfigFor(managerUser, nil, time.Hour)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme(), Logger: w.log.logger(), Cache: cache.Options{ByObject: optionalkind.CacheOptions()}, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, err
	}
	w.connections = fleet.New(fleet.Options{
		Installation: "test", Rules: managedfields.DefaultRules("test"), Timeouts: timeouts(),
		Guard: fleettest.Anywhere, Metrics: fleet.NewMetrics(prometheus.NewRegistry()), Clock: clock.RealClock{}, Log: w.log.logger(),
	})
	err = clusternamespace.SetupWithManager(mgr, clusternamespace.Options{})
	if err != nil {
		return nil, err
	}
	return mgr, SetupWithManager(ctx, mgr, Options{
		Fleet: w.connections, Targets: targets.Registry{addonrelease.TargetKind(), backupenrollment.TargetKind(), noteKind(), copyRunKind()}, ProviderNamespace: providerNamespace, CredentialsExpiryWarning: expiryWarning,
		Clock: &w.clock,
	})
}
