package fleet

import (
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/daytwo-dev/daytwo/internal/listenertest"
)

// unprobed are timeouts with which only the connection itself can show that it is dead.
func unprobed() Timeouts {
	limits := timeouts()
	limits.Probe = time.Hour
	return limits
}

func (r *rig) unreachable(what string) {
	r.Helper()
	r.eventually(what, func() bool {
		state, _ := r.fleet.State(r.key)
		return state.Phase == Unreachable
	})
}

func TestPacketsThatVanishAreNoticedByPings(t *testing.T) {
	for name, watched := range map[string]bool{"with a watch": true, "with no request under way": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, unprobed())
			way := forwardTo(t, shared.first.Endpoint())
			cluster := r.connected(shared.access(way.address()))
			if watched {
				r.watched(cluster)
			}
			way.drop()
			r.unreachable("a connection whose packets vanish counts as lost")
		})
	}
}

func TestResetsBehindALoadBalancerAreNoticed(t *testing.T) {
	r := newRig(t, unprobed())
	way := forwardTo(t, shared.first.Endpoint())
	r.connected(shared.access(way.address()))
	way.lead(t, "https://"+listenertest.Closed(t))
	way.cut()
	r.unreachable("a load balancer without a server counts as lost")
}

func TestDisconnectedClusterCountsAsNotConnected(t *testing.T) {
	r := newRig(t, timeouts())
	r.connected(shared.access(hostOf(t, shared.first)))
	if got := r.connectedMetric(); got != 1 {
		t.Fatalf("daytwo_cluster_connected is %v while it is connected", got)
	}
	r.fleet.Disconnect(r.key)
	if got := r.connectedMetric(); got != 0 {
		t.Errorf("daytwo_cluster_connected is %v after its access was taken away", got)
	}
}

func (r *rig) connectedMetric() float64 {
	r.Helper()
	var metric dto.Metric
	if err := r.fleet.metrics.connected.WithLabelValues(r.key.Namespace, r.key.Name).Write(&metric); err != nil {
		r.Fatal(err)
	}
	return metric.GetGauge().GetValue()
}
