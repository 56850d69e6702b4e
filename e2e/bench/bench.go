package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/e2e/bench/floor"
	"github.com/daytwo-dev/daytwo/e2e/environment"
	"github.com/daytwo-dev/daytwo/e2e/registry"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// fleetNamespace is where the TenantClusters and add-ons are.
const fleetNamespace = "fleet"

// bench is what all measurements share.
type bench struct {
	options
	out io.Writer
	env *environment.Environment
	// clusters in the order in which they are registered.
	fleet []*localfleet.Cluster
	// bare clients of the same clusters.
	bare []*floor.Cluster
	// installation is the label value of what the manager applies.
	installation string
	// registered is how many of the clusters are TenantClusters.
	registered int
	// drifting: the objects to edit are deployed.
	drifting bool
	// charts has the chart that is measured; nil until it is needed.
	charts *registry.Server
}

// measurement fills some rows of the table.
type measurement struct {
	rows []string
	run  func(*bench, context.Context) ([]result, error)
}

// shared are the measurements in one fleet, in the order in which they are made: it grows during the first, the manager is
// new to it in the second, and the last leave much behind.
var shared = []measurement{
	{[]string{memoryRow}, (*bench).memory},
	{[]string{restartSecondsRow, restartWritesRow}, (*bench).restart},
	{[]string{idleRow}, (*bench).idleRequests},
	{[]string{driftValue.p50(), driftValue.p99()}, func(b *bench, ctx context.Context) ([]result, error) { return b.drift(ctx, driftValue) }},
	{[]string{driftAdded.p50(), driftAdded.p99()}, func(b *bench, ctx context.Context) ([]result, error) { return b.drift(ctx, driftAdded) }},
	{[]string{convergeRow}, (*bench).converge},
	{[]string{chartMemoryRow}, (*bench).chartMemory},
	{[]string{chartConvergeRow, chartVersusHelmRow}, (*bench).chartConverge},
	{[]string{unreachableDriftRow, unreachableConvergeRow, unreachableTriesRow}, (*bench).unreachable},
	{[]string{reconnectRow}, (*bench).reconnect},
	{[]string{hostileServerRow, hostilePeakRow}, (*bench).hostileServer},
	{[]string{flapRow}, (*bench).statusFlap},
	{[]string{labelledRow}, (*bench).labelledObjects},
	{[]string{hostileRow}, (*bench).hostileTenant},
	{[]string{neighbourDriftRow, neighbourConvergeRow}, (*bench).slowNeighbour},
}

// apart are the measurements that start a fleet of their own each, once the shared one has ended: two fleets of twenty clusters
// take more memory and inotify instances than a machine may have.
var apart = []measurement{
	{[]string{orderRow}, (*bench).orders},
	{[]string{drillRow}, (*bench).drills},
	{[]string{enrollmentsRow}, (*bench).enrollments},
	{[]string{deliveriesRow, recordedRow, issuedRow, rotationRow}, (*bench).certificates},
}

// open starts the shared fleet.
func (b *bench) open(ctx context.Context) error {
	env, err := environment.Start(ctx, environment.Options{
		StateDir: b.stateDir, Clusters: b.clusters, Bare: true, Manager: b.manager, Progress: b.out,
		// A killed leader's lease would outlast everything that is measured after a restart. The registry
		// of charts is on this machine.
		ManagerArgs: []string{"--leader-election=off", "--allow-private-sources"},
	})
	if err != nil {
		return err
	}
	b.env, b.fleet = env, env.Fleet.Clusters()
	if err := b.prepare(ctx); err != nil {
		return errors.Join(err, b.close())
	}
	return nil
}

func (b *bench) prepare(ctx context.Context) error {
	system := &corev1.Namespace{}
	if err := b.env.Admin.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		return fmt.Errorf("identify the management cluster: %w", err)
	}
	b.installation = string(system.UID)
	for _, cluster := range b.fleet {
		bare, err := floor.Connect(cluster.Config())
		if err != nil {
			return err
		}
		b.bare = append(b.bare, bare)
	}
	return nil
}

func (b *bench) close() error {
	var err error
	if b.charts != nil {
		err = b.charts.Close()
	}
	return errors.Join(err, b.env.Close())
}

// measure makes the measurements that were asked for.
func (b *bench) measure(ctx context.Context) ([]result, error) {
	results, err := b.measureShared(ctx)
	others, otherErr := b.measureAll(ctx, apart)
	return append(results, others...), errors.Join(err, otherErr)
}

// measureShared starts the shared fleet only if a measurement needs it.
func (b *bench) measureShared(ctx context.Context) ([]result, error) {
	if !slices.ContainsFunc(shared, func(m measurement) bool { return m.wanted(b.only) }) {
		return nil, nil
	}
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	results, err := b.measureAll(ctx, shared)
	return results, errors.Join(err, b.close())
}

// measureAll makes measurements. One that fails does not stop the others.
func (b *bench) measureAll(ctx context.Context, all []measurement) ([]result, error) {
	var results []result
	var errs []error
	for _, m := range all {
		if !m.wanted(b.only) {
			continue
		}
		start := time.Now()
		rows, err := m.run(b, ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s could not be measured (logs are in %s*/logs): %w", strings.Join(m.rows, ", "), b.stateDir, err))
		}
		b.progressf("%s: measured in %.0f s", strings.Join(m.rows, ", "), time.Since(start).Seconds())
		results = append(results, rows...)
	}
	return results, errors.Join(errs...)
}

func (m measurement) wanted(only []string) bool {
	return len(only) == 0 || slices.ContainsFunc(m.rows, func(row string) bool {
		return slices.ContainsFunc(only, func(prefix string) bool { return strings.HasPrefix(row, prefix) })
	})
}

func (b *bench) progressf(format string, arguments ...any) {
	fmt.Fprintf(b.out, format+"\n", arguments...)
}
