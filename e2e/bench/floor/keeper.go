package floor

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
)

// Keeper watches one kind, and keeps of each object what is needed to notice a change.
type Keeper struct {
	// Opened is closed when the watch was opened first.
	Opened chan struct{}

	source source
	once   sync.Once

	mu   sync.Mutex
	seen map[types.UID]uint64
}

// source lists and watches the objects of one kind with some labels.
type source struct {
	options metav1.ListOptions
	list    func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch   func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// Keep lists a kind, and makes a Keeper of what is there.
func (c *Cluster) Keep(ctx context.Context, kind Kind, labels map[string]string) (*Keeper, string, error) {
	keeper := &Keeper{Opened: make(chan struct{}), source: c.sourceOf(kind, labels), seen: map[types.UID]uint64{}}
	list, err := keeper.source.list(ctx, keeper.source.options)
	if err != nil {
		return nil, "", fmt.Errorf("list %s: %w", kind.Resource, err)
	}
	if err := meta.EachListItem(list, func(item runtime.Object) error { return keeper.note(item) }); err != nil {
		return nil, "", err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, "", err
	}
	return keeper, accessor.GetResourceVersion(), nil
}

// sourceOf hides which of two clients, that differ in types only, lists and watches a kind.
func (c *Cluster) sourceOf(kind Kind, labels map[string]string) source {
	if kind.Whole {
		client := c.dynamic.Resource(kind.GroupVersionResource)
		return source{selecting(labels), func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		}, client.Watch}
	}
	client := c.metadata.Resource(kind.GroupVersionResource)
	return source{selecting(labels), func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, options)
	}, client.Watch}
}

// Run watches from a resource version on, until the context ends.
func (k *Keeper) Run(ctx context.Context, version string) error {
	retrier, err := watchtools.NewRetryWatcherWithContext(ctx, version, k)
	if err != nil {
		return err
	}
	defer retrier.Stop()
	for event := range retrier.ResultChan() {
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		if err := k.note(event.Object); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// WatchWithContext opens one watch.
func (k *Keeper) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.LabelSelector = k.source.options.LabelSelector
	watching, err := k.source.watch(ctx, options)
	if err == nil {
		k.once.Do(func() { close(k.Opened) })
	}
	return watching, err
}

// note keeps a fingerprint of who owns what of an object.
func (k *Keeper) note(object runtime.Object) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	digest := fnv.New64a()
	for _, entry := range accessor.GetManagedFields() {
		if entry.Subresource == "" && entry.FieldsV1 != nil {
			fmt.Fprintf(digest, "%s %s %s\n", entry.Manager, entry.Operation, entry.FieldsV1.GetRawBytes())
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen[accessor.GetUID()] = digest.Sum64()
	return nil
}
