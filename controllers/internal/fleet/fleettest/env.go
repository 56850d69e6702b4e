// Package fleettest connects a fleet to a real API server, for the tests of what works through it.
package fleettest

import (
	"context"
	"errors"
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

// Env is one API server, to which a fleet is connected.
type Env struct {
	// Installation is the value of the label daytwo.dev/managed-by.
	Installation string
	// Admin may do anything there.
	Admin client.Client

	connections *fleet.Fleet
	key         types.NamespacedName
}

// Start is for fixture.Main.
func (w *Env) Start(ctx context.Context, dir string) (end func() error, err error) {
	servers, err := fixture.StartFleet(ctx, dir, localfleet.Options{ClusterOptions: localfleet.ClusterOptions{Bare: true}})
	if err != nil {
		return nil, err
	}
	only := servers.Management()
	if w.Admin, err = client.New(only.Config(), client.Options{}); err != nil {
		return servers.Close, err
	}
	access, err := kubeconfig.Parse(only.Kubeconfig(), kubeconfig.Options{})
	if err != nil {
		return servers.Close, err
	}
	w.connections = fleet.New(fleet.Options{
		Installation: w.Installation, Rules: managedfields.DefaultRules(w.Installation), Timeouts: fleet.DefaultTimeouts(),
		Guard: Anywhere, Metrics: fleet.NewMetrics(prometheus.NewRegistry()), Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	w.key = types.NamespacedName{Namespace: "acme", Name: "prod"}
	w.connections.Connect(w.key, access)
	system := &corev1.Namespace{}
	if err := w.Admin.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		return servers.Close, err
	}
	return func() error {
		w.connections.Close()
		return servers.Close()
	}, w.connections.Admit(w.key, system.UID)
}

// Cluster waits for the connection.
func (w *Env) Cluster(t testing.TB) *fleet.Cluster {
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
