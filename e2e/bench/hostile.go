package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/bench/floor"
)

const hostileRow = "hostile_tenant_memory"

const (
	// hostileBytes are in each of the many objects, and largeBytes and largeMetadata in each of the few
	// large ones. An object may have 1 MiB of data, its metadata 256 KiB of annotations, and etcd takes
	// 1.5 MiB.
	hostileBytes  = 1 << 10
	largeBytes    = 1000 << 10
	largeMetadata = 255 << 10
	largeObjects  = 20
	// atATime is how many of them are made at the same time.
	atATime = 16
)

// hostileTenant measures the manager's memory after a customer made many objects with the label of what
// Daytwo applies, beside what it was before.
func (b *bench) hostileTenant(ctx context.Context) ([]result, error) {
	if err := b.populate(ctx, b.clusters); err != nil {
		return nil, err
	}
	if err := b.startAnew(ctx); err != nil {
		return nil, err
	}
	before, err := b.managerUsage(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.flood(ctx); err != nil {
		return nil, err
	}
	if err := b.correctOnce(ctx); err != nil {
		return nil, err
	}
	if err := b.quiet(ctx); err != nil {
		return nil, err
	}
	after, err := b.managerUsage(ctx)
	if err != nil {
		return nil, err
	}
	b.progressf("before: %s; with %d objects of a customer's own: %s", before, b.hostileObjects+largeObjects, after)
	return []result{newResult(hostileRow, "KiB", after.live+after.stacks, before.live+before.stacks)}, nil
}

// startAnew starts the manager again, and lets it correct something, since the first time costs memory that
// stays. What was measured before leaves memory that it lets go of only later, and that would hide as much of
// what is measured now.
func (b *bench) startAnew(ctx context.Context) error {
	if err := b.env.Manager.Kill(); err != nil {
		return err
	}
	if err := b.env.Manager.Start(ctx); err != nil {
		return err
	}
	err := b.until(ctx, 100*time.Millisecond, func(now metrics) bool {
		return now.total("daytwo_cluster_connected", isOne) == float64(b.clusters)
	})
	if err != nil {
		return fmt.Errorf("wait until all clusters are connected again: %w", err)
	}
	if err := b.correctOnce(ctx); err != nil {
		return err
	}
	return b.quiet(ctx)
}

// flood makes the objects in the first cluster.
func (b *bench) flood(ctx context.Context) error {
	config := floor.OwnConnection(b.fleet[0].Config())
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for i := range b.hostileObjects + largeObjects {
		group.Go(func() error {
			_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, b.hostileObject(i), metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("make the objects of a customer: %w", err)
	}
	b.progressf("a customer made %d objects in %.0f s", b.hostileObjects+largeObjects, time.Since(start).Seconds())
	return nil
}

// hostileObject is one that looks like Daytwo's; the last ones are large.
func (b *bench) hostileObject(i int) *corev1.ConfigMap {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:   fmt.Sprintf("theirs-%06d", i),
			Labels: map[string]string{metav1alpha1.LabelManagedBy: b.installation, metav1alpha1.LabelHash: "v1-0123456789abcdef"},
		},
		Data: map[string]string{"ballast": strings.Repeat("x", hostileBytes)},
	}
	if i >= b.hostileObjects {
		object.Annotations = map[string]string{"ballast": strings.Repeat("x", largeMetadata)}
		object.Data["ballast"] = strings.Repeat("x", largeBytes)
	}
	return object
}

// correctOnce returns when an edit in the first cluster was taken back. The manager has then seen all the
// ConfigMaps that were made there before, since it sees them in one watch.
func (b *bench) correctOnce(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(b.fleet[0].Config())
	if err != nil {
		return err
	}
	const object, field = "settings", "maxmemory"
	configMaps := client.CoreV1().ConfigMaps(steadyAddon)
	declared, err := configMaps.Get(ctx, object, metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"data":{%q:"changed"}}`, field)
	if _, err := configMaps.Patch(ctx, object, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: editor}); err != nil {
		return err
	}
	return poll(ctx, "an edit of ConfigMap "+object+" is taken back", func(ctx context.Context) (bool, error) {
		now, err := configMaps.Get(ctx, object, metav1.GetOptions{})
		return err == nil && now.Data[field] == declared.Data[field], err
	})
}
