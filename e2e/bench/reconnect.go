package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/daytwo-dev/daytwo/e2e/bench/faults"
)

const reconnectRow = "reconnect_goroutines"

// Where a cluster is led in each cycle: first where an attempt hangs, and is ended while it does, then where
// it fails at once.
var (
	hanging = []string{"silence", "endless-handshake", "slow-answers"}
	failing = []string{"closed-port", "too-many-requests", "internal-errors", "wrong-authority"}
)

// reconnect counts the manager's goroutines after a cluster was lost and found again many times, beside
// those before. Its kubeconfig is changed, to lead to nowhere and back.
func (b *bench) reconnect(ctx context.Context) ([]result, error) {
	if err := b.populate(ctx, b.clusters); err != nil {
		return nil, err
	}
	out, err := b.newOutage(len(faults.All()))
	if err != nil {
		return nil, err
	}
	results, err := b.reconnectThrough(ctx, out)
	return results, errors.Join(err, out.close())
}

func (b *bench) reconnectThrough(ctx context.Context, out *outage) ([]result, error) {
	before, err := b.goroutines(ctx)
	if err != nil {
		return nil, err
	}
	for cycle := range b.cycles {
		hang, fail := out.with(hanging[cycle%len(hanging)]), out.with(failing[cycle%len(failing)])
		if err := b.reconnectOnce(ctx, hang, fail); err != nil {
			return nil, fmt.Errorf("cycle %d, with %s and %s: %w", cycle, hang.Fault().Name, fail.Fault().Name, err)
		}
	}
	after, err := b.goroutines(ctx)
	if err != nil {
		return nil, err
	}
	b.progressf("%.0f goroutines, and %.0f after %d cycles", before, after, b.cycles)
	return []result{newResult(reconnectRow, "goroutines", after, before)}, nil
}

// with returns the server with a fault.
func (o *outage) with(fault string) *faults.Server {
	return o.servers[slices.IndexFunc(o.servers, func(s *faults.Server) bool { return s.Fault().Name == fault })]
}

// reconnectOnce leads the last cluster of the fleet elsewhere and back.
func (b *bench) reconnectOnce(ctx context.Context, hang, fail *faults.Server) error {
	cluster := b.fleet[len(b.fleet)-1]
	tenant := namespaced(fleetNamespace, cluster.Name())
	err := b.leadTo(ctx, tenant, hang)
	if err == nil {
		err = b.leadTo(ctx, tenant, fail)
	}
	// Whatever happened, what is measured afterwards needs the cluster.
	if err := errors.Join(err, b.env.Lead(ctx, tenant, cluster.Kubeconfig())); err != nil {
		return err
	}
	// Of a cluster that comes and goes the conditions tell late.
	connected := func(labels map[string]string, _ float64) bool {
		return labels["namespace"] == tenant.Namespace && labels["cluster"] == tenant.Name
	}
	return b.until(ctx, 50*time.Millisecond, func(now metrics) bool { return now.total("daytwo_cluster_connected", connected) == 1 })
}

// unseen is how long a cluster is led to where nobody counts attempts: more than the manager takes to make one.
const unseen = 500 * time.Millisecond

// leadTo leads a cluster to a server, and returns when the manager tries to reach it there.
func (b *bench) leadTo(ctx context.Context, tenant types.NamespacedName, server *faults.Server) error {
	kubeconfig, err := server.Kubeconfig()
	if err != nil {
		return err
	}
	tried, counted := server.Attempts()
	if err := b.env.Lead(ctx, tenant, kubeconfig); err != nil {
		return err
	}
	if !counted {
		return pause(ctx, unseen)
	}
	return poll(ctx, "the manager tries "+server.Fault().Name, func(context.Context) (bool, error) {
		now, _ := server.Attempts()
		return now > tried, nil
	})
}

func poll(ctx context.Context, what string, is wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience, true, is); err != nil {
		return fmt.Errorf("wait until %s: %w", what, err)
	}
	return nil
}

// goroutines returns the least that the manager has, of several looks, once it has come to rest: some live
// as long as a request or a timer.
func (b *bench) goroutines(ctx context.Context) (float64, error) {
	if err := b.quiet(ctx); err != nil {
		return 0, err
	}
	var counts []float64
	for range 10 {
		now, err := b.env.Manager.Metrics(ctx)
		if err != nil {
			return 0, err
		}
		counts = append(counts, metrics(now).total("go_goroutines", nil))
		if err := pause(ctx, calm/5); err != nil {
			return 0, err
		}
	}
	return percentile(counts, 0), nil
}
