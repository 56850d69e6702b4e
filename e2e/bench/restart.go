package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

const (
	restartSecondsRow = "restart_steady_seconds"
	restartWritesRow  = "restart_writes"
)

// restartAfter is longer than a status waits that only mirrors what is so in clusters: what is not written yet when the manager is
// killed, its successor writes.
const restartAfter = 15 * time.Second

// restart kills the manager in a fleet that needs nothing, starts it again, and measures how long it
// takes until every target was looked at, which needs all watches, and what it writes on the way:
// requests to workload clusters, and changes of Daytwo's own objects. The floor is another process
// that starts, connects to the same clusters and lists the same kinds.
func (b *bench) restart(ctx context.Context) ([]result, error) {
	if err := b.populate(ctx, b.clusters); err != nil {
		return nil, err
	}
	if err := pause(ctx, restartAfter); err != nil {
		return nil, err
	}
	var ours, writes, floors []float64
	for round := range min(b.rounds, 5) {
		took, wrote, err := b.restartOnce(ctx)
		if err != nil {
			return nil, err
		}
		bare, err := b.listBare(ctx)
		if err != nil {
			return nil, err
		}
		b.progressf("round %d: steady after %.2f s, floor %.2f s; %d writes", round, took.Seconds(), bare.Seconds(), wrote)
		ours, floors, writes = append(ours, took.Seconds()), append(floors, bare.Seconds()), append(writes, float64(wrote))
	}
	return []result{
		newResult(restartSecondsRow, "s", median(ours), median(floors)),
		newResult(restartWritesRow, "writes", percentile(writes, 100), 0),
	}, nil
}

func (b *bench) restartOnce(ctx context.Context) (time.Duration, int, error) {
	if err := b.env.Manager.Kill(); err != nil {
		return 0, 0, err
	}
	before, err := b.versions(ctx)
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	if err := b.env.Manager.Start(ctx); err != nil {
		return 0, 0, err
	}
	if err := b.until(ctx, 10*time.Millisecond, b.steady); err != nil {
		return 0, 0, fmt.Errorf("wait until all targets were looked at again: %w", err)
	}
	took := time.Since(start)
	if err := b.quiet(ctx); err != nil {
		return 0, 0, err
	}
	after, err := b.versions(ctx)
	if err != nil {
		return 0, 0, err
	}
	now, err := b.env.Manager.Metrics(ctx)
	return took, changes(before, after) + int(metrics(now).total(requestsMetric, isWrite)), err
}

// steady: all clusters are connected, and all targets have been found Ready.
func (b *bench) steady(now metrics) bool {
	return now.total("daytwo_cluster_connected", isOne) == float64(b.clusters) &&
		now.total("daytwo_target_ready", isOne) == float64(b.clusters)
}

// versions returns the resource version of every object that Daytwo keeps in the management cluster.
func (b *bench) versions(ctx context.Context) (map[types.UID]string, error) {
	versions := map[types.UID]string{}
	note := func(object client.Object) { versions[object.GetUID()] = object.GetResourceVersion() }

	clusters, addons := &tenancyv1alpha1.TenantClusterList{}, &addonsv1alpha1.SaaSAddonList{}
	targets, revisions := &addonsv1alpha1.AddonReleaseList{}, &corev1.SecretList{}
	for _, list := range []client.ObjectList{clusters, addons, targets, revisions} {
		if err := b.env.Admin.List(ctx, list, client.InNamespace(fleetNamespace)); err != nil {
			return nil, err
		}
	}
	for i := range clusters.Items {
		note(&clusters.Items[i])
	}
	for i := range addons.Items {
		note(&addons.Items[i])
	}
	for i := range targets.Items {
		note(&targets.Items[i])
	}
	for i := range revisions.Items {
		note(&revisions.Items[i])
	}
	return versions, nil
}

// changes counts the objects that were changed, made or removed.
func changes(before, after map[types.UID]string) int {
	count := 0
	for uid, version := range after {
		if before[uid] != version {
			count++
		}
	}
	for uid := range before {
		if _, still := after[uid]; !still {
			count++
		}
	}
	return count
}
