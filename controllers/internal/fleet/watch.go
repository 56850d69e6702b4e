package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"

	"github.com/daytwo-dev/daytwo/apis/common"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Watch sees to it that the objects of a kind are watched, as long as the connection lasts. It
// returns at once; Tracker.Synced tells when the first list is in.
func (c *Cluster) Watch(ctx context.Context, kind schema.GroupVersionKind) error {
	c.mu.Lock()
	started := c.watches[kind.GroupKind()]
	c.mu.Unlock()
	if started {
		return nil
	}
	resource, err := c.Resource(ctx, kind)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.watches[kind.GroupKind()] {
		c.watches[kind.GroupKind()] = true
		w := &kindWatch{cluster: c, kind: kind, source: c.sourceFor(resource)}
		go w.run(c.ctx)
	}
	return nil
}

// kindWatch keeps the tracker informed of one kind, until its context ends.
type kindWatch struct {
	cluster *Cluster
	kind    schema.GroupVersionKind
	source  source
}

// errKindGone: the cluster serves the kind no more; its definition was removed.
var errKindGone = errors.New("the kind is not served any more")

// run lists and watches, again and again. A failure makes the connection look whether the cluster is
// still there, and is tried again with backoff.
func (w *kindWatch) run(ctx context.Context) {
	for ctx.Err() == nil {
		backoff := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 12, Cap: 30 * time.Second}
		err := wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
			err := w.listAndWatch(ctx)
			if errors.Is(err, errKindGone) {
				return false, err
			}
			if err != nil && ctx.Err() == nil {
				w.cluster.connection.fleet.options.Log.V(1).Info("watch ended", "cluster", w.cluster.connection.key, "kind", w.kind.Kind, "reason", err.Error())
				poke(w.cluster.connection.suspicious)
			}
			return err == nil, nil
		})
		if errors.Is(err, errKindGone) {
			w.cluster.unwatch(w.kind)
			return
		}
	}
}

// unwatch forgets a kind that is not served any more, and with it its objects. The next Watch asks
// for it again.
func (c *Cluster) unwatch(kind schema.GroupVersionKind) {
	c.forget(kind)
	c.mu.Lock()
	delete(c.watches, kind.GroupKind())
	c.mu.Unlock()
	c.Tracker.replace(kind.GroupKind(), nil, "", c.connection.fleet.clock.Now())
}

// listAndWatch returns nil when the list should be made anew at once: what it continued from is no
// longer known to the API server.
func (w *kindWatch) listAndWatch(ctx context.Context) error {
	version, err := w.list(ctx)
	if err != nil {
		return err
	}
	// The retrier would log every attempt as an error, without saying in which cluster. That the cluster
	// does not answer is told once, by its connection.
	ctx, stop := context.WithCancelCause(klog.NewContext(ctx, logr.Discard()))
	defer stop(nil)
	// The retrier goes on where a watch ended, and ends itself when the server has forgotten that place.
	retrier, err := watchtools.NewRetryWatcherWithContext(ctx, version, w.resuming(stop))
	if err != nil {
		return fmt.Errorf("watch %s: %w", w.kind.Kind, err)
	}
	for event := range retrier.ResultChan() {
		if event.Type == watch.Error {
			if err := apierrors.FromObject(event.Object); !apierrors.IsGone(err) && !apierrors.IsResourceExpired(err) {
				return fmt.Errorf("watch %s: %w", w.kind.Kind, err)
			}
			return nil
		}
		w.handle(event)
	}
	if errors.Is(context.Cause(ctx), errKindGone) {
		return errKindGone
	}
	return nil
}

type watcherFunc func(context.Context, metav1.ListOptions) (watch.Interface, error)

func (f watcherFunc) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return f(ctx, options)
}

func (w *kindWatch) selector() string {
	return common.LabelManagedBy + "=" + w.cluster.connection.fleet.options.Installation
}

// resuming opens the watch, for the first time and whenever it ended. The retrier would go on for
// ever with a kind that is gone, so that is stopped.
func (w *kindWatch) resuming(stop context.CancelCauseFunc) watcherFunc {
	return func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.LabelSelector = w.selector()
		watching, err := w.source.watch(ctx, options)
		switch {
		case apierrors.IsNotFound(err):
			stop(errKindGone)
		case err != nil && ctx.Err() == nil:
			poke(w.cluster.connection.suspicious)
		}
		return watching, err
	}
}

// list takes in what is there and returns the resource version to watch from.
func (w *kindWatch) list(ctx context.Context) (string, error) {
	seen := map[objects.Key]Seen{}
	now := w.cluster.connection.fleet.clock.Now()
	version, err := w.source.each(ctx, w.selector(), func(item runtime.Object) error {
		if key, sighting, ok := w.look(item, now); ok {
			seen[key] = sighting
		}
		return nil
	})
	if apierrors.IsNotFound(err) {
		return "", errKindGone
	}
	if err != nil {
		return "", fmt.Errorf("list %s: %w", w.kind.Kind, err)
	}
	w.cluster.Tracker.replace(w.kind.GroupKind(), seen, version, now)
	return version, nil
}

func (w *kindWatch) handle(event watch.Event) {
	now := w.cluster.connection.fleet.clock.Now()
	key, seen, ok := w.look(event.Object, now)
	if !ok {
		return
	}
	if event.Type == watch.Deleted {
		// How it ended is in this event only, if it deletes itself as soon as it has.
		seen = Seen{Gone: true, UID: seen.UID, ResourceVersion: seen.ResourceVersion, Health: Health{End: seen.Health.End}, At: now}
	}
	if event.Type != watch.Bookmark {
		w.cluster.Tracker.observe(key, seen)
	}
}

// look makes a sighting of an object; false for one that nobody claimed.
func (w *kindWatch) look(object runtime.Object, now time.Time) (objects.Key, Seen, bool) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return objects.Key{}, Seen{}, false
	}
	key := objects.Key{GroupKind: w.kind.GroupKind(), Namespace: accessor.GetNamespace(), Name: accessor.GetName()}
	if !w.cluster.Tracker.claims(key) {
		return key, Seen{}, false
	}
	partial, health, err := reduce(object)
	if err != nil {
		return key, Seen{}, false
	}
	return key, Seen{
		UID:             partial.UID,
		ResourceVersion: partial.ResourceVersion,
		Fingerprint:     w.cluster.connection.fleet.options.Controllers.Fingerprint(partial),
		Health:          health,
		Object:          partial,
		At:              now,
	}, true
}

// reduce keeps the metadata and the health of an object.
func reduce(object runtime.Object) (*metav1.PartialObjectMetadata, Health, error) {
	switch typed := object.(type) {
	case *metav1.PartialObjectMetadata:
		return typed, healthOfMetadata(typed), nil
	case *unstructured.Unstructured:
		partial := &metav1.PartialObjectMetadata{}
		metadata, _, err := unstructured.NestedMap(typed.Object, "metadata")
		if err != nil {
			return nil, Health{}, err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"metadata": metadata}, partial); err != nil {
			return nil, Health{}, err
		}
		return partial, healthOf(typed), nil
	}
	return nil, Health{}, errors.New("neither metadata nor a whole object")
}
