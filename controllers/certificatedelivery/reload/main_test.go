package reload

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const installation = "test"

// env is one API server, to which a fleet is connected.
type env struct {
	connections *fleet.Fleet
	key         types.NamespacedName
	// admin may do anything there.
	admin client.Client
}

var shared env

func TestMain(m *testing.M) { os.Exit(fixture.Main(m, 0, shared.start)) }

func (w *env) start(ctx context.Context, dir string) (end func() error, err error) {
	servers, err := fixture.StartFleet(ctx, dir, localfleet.Options{ClusterOptions: localfleet.ClusterOptions{Bare: true}})
	if err != nil {
		return nil, err
	}
	only := servers.Management()
	if w.admin, err = client.New(only.Config(), client.Options{}); err != nil {
		return servers.Close, err
	}
	access, err := kubeconfig.Parse(only.Kubeconfig(), kubeconfig.Options{})
	if err != nil {
		return servers.Close, err
	}
	w.connections = fleet.New(fleet.Options{
		Installation: installation, Rules: managedfields.DefaultRules(installation), Timeouts: fleet.DefaultTimeouts(),
		Metrics: fleet.NewMetrics(prometheus.NewRegistry()), Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	w.key = types.NamespacedName{Namespace: "acme", Name: "prod"}
	w.connections.Connect(w.key, access)
	system := &corev1.Namespace{}
	if err := w.admin.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		return servers.Close, err
	}
	return func() error {
		w.connections.Close()
		return servers.Close()
	}, w.connections.Admit(w.key, system.UID)
}

// cluster waits for the connection.
func (w *env) cluster(t *testing.T) *fleet.Cluster {
	t.Helper()
	var found *fleet.Cluster
	expect.Eventually(t, "the cluster is connected", func(context.Context) error {
		var connected bool
		if found, connected = w.connections.Get(w.key); !connected {
			return errors.New("it is not")
		}
		return nil
	})
	return found
}
