package fleet

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/resources"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// Watch keeps the objects of a kind watched as long as the connection lasts. It returns at once; Tracker.Kind
// tells how far the watch is. meta.IsNoMatchError tells that the cluster does not serve the kind.
func (c *Cluster) Watch(ctx context.Context, kind schema.GroupVersionKind) error {
	if c.isWatching(kind.GroupKind()) {
		return nil
	}
	// A kind that cannot be discovered is looked up again by its watch, which tells of the failure.
	if _, err := c.Resource(ctx, kind); meta.IsNoMatchError(err) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.watches[kind.GroupKind()]
	if w == nil {
		w = newKindWatch(c, kind)
		c.watches[kind.GroupKind()] = w
	}
	if w.running || c.ctx.Err() != nil {
		return nil
	}
	w.running = true
	c.running.Go(func() { w.run(c.ctx) })
	return nil
}

func (c *Cluster) isWatching(kind schema.GroupKind) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.watches[kind]
	return w != nil && w.running
}

// kindWatch keeps the tracker informed of one kind.
type kindWatch struct {
	watchLoop
	// running is guarded by the cluster's mutex.
	running bool
}

func newKindWatch(c *Cluster, kind schema.GroupVersionKind) *kindWatch {
	w := &kindWatch{}
	w.watchLoop = newWatchLoop(c, kind, w)
	return w
}

// source implements watchConsumer.
func (w *kindWatch) source(resource resources.Resource) source { return w.cluster.sourceFor(resource) }

// fields implements watchConsumer.
func (w *kindWatch) fields() string { return "" }

// selector implements watchConsumer.
func (w *kindWatch) selector() string {
	return metav1alpha1.LabelManagedBy + "=" + w.cluster.connection.fleet.options.Installation
}

// setUnknown implements watchConsumer.
func (w *kindWatch) setUnknown(reason string) {
	w.cluster.Tracker.SetUnknown(w.kind.GroupKind(), reason)
}

// gone implements watchConsumer. It forgets the objects of the kind. The next Watch looks for the kind again.
func (w *kindWatch) gone() {
	w.cluster.mu.Lock()
	w.running = false
	w.cluster.mu.Unlock()
	none := w.cluster.Tracker.Horizon(w.kind.GroupKind())
	w.cluster.Tracker.Replace(w.kind.GroupKind(), nil, "", none, w.cluster.connection.fleet.clock.Now())
	w.cluster.Tracker.RetainUnrecorded(w.kind.GroupKind(), nil)
}

// list implements watchConsumer.
func (w *kindWatch) list(ctx context.Context, source source) (string, error) {
	before := w.cluster.Tracker.Horizon(w.kind.GroupKind())
	seen := map[objects.Key]tracker.Seen{}
	now := w.cluster.connection.fleet.clock.Now()
	unrecorded := map[objects.Key]types.UID{}
	version, err := source.each(ctx, w.selector(), w.fields(), func(item runtime.Object) error {
		if key, observation, ok := w.look(item, now); ok {
			seen[key] = observation
		}
		return nil
	}, func(head bounded.Head) {
		if head.Independent && len(unrecorded) < tracker.MaxUnrecorded {
			unrecorded[head.Key(w.kind.GroupKind())] = head.UID
		}
	})
	if err != nil {
		return "", err
	}
	w.cluster.Tracker.Replace(w.kind.GroupKind(), seen, version, before, now)
	w.cluster.Tracker.RetainUnrecorded(w.kind.GroupKind(), unrecorded)
	for key, uid := range unrecorded {
		w.cluster.Tracker.NoteUnrecorded(key, uid, false, now)
	}
	return version, nil
}

// handle implements watchConsumer.
func (w *kindWatch) handle(event watch.Event) error {
	now := w.cluster.connection.fleet.clock.Now()
	key, seen, ok := w.look(event.Object, now)
	if !ok {
		return nil
	}
	if event.Type == watch.Deleted {
		// How it ended is in this event only, if it deletes itself as soon as it has.
		seen = tracker.Seen{Gone: true, UID: seen.UID, ResourceVersion: seen.ResourceVersion, Health: tracker.Health{End: seen.Health.End}, At: now}
	}
	w.cluster.Tracker.Observe(key, seen)
	return nil
}

// look makes an observation of an object of the watched kind.
func (w *kindWatch) look(object runtime.Object, now time.Time) (objects.Key, tracker.Seen, bool) {
	return w.cluster.look(w.kind.GroupKind(), object, now)
}

// look makes an observation of an object; false for one that no target claimed.
func (c *Cluster) look(kind schema.GroupKind, object runtime.Object, now time.Time) (objects.Key, tracker.Seen, bool) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return objects.Key{}, tracker.Seen{}, false
	}
	key := objects.Key{GroupKind: kind, Namespace: accessor.GetNamespace(), Name: accessor.GetName()}
	tolerance, claimed := c.Tracker.Claimed(key)
	if !claimed {
		return key, tracker.Seen{}, false
	}
	partial, health, err := reduce(object)
	if err != nil || bounded.CheckIdentifiers(partial.UID, partial.ResourceVersion) != nil {
		return key, tracker.Seen{}, false
	}
	is := c.connection.fleet.options.Rules.Assess(partial, managedfields.Subject{Kind: key.GroupKind, Tolerance: tolerance})
	for i, manager := range is.Tolerated {
		is.Tolerated[i] = truncate.Cut(manager, bounded.MaxManager)
	}
	health.Message = truncate.Cut(health.Message, bounded.MaxSeenText)
	return key, tracker.Seen{
		UID:             partial.UID,
		ResourceVersion: partial.ResourceVersion,
		Fingerprint:     is.Fingerprint,
		Untouched:       is.Untouched,
		Tolerated:       is.Tolerated,
		Rules:           tolerance.Version,
		Health:          health,
		Object:          bounded.Excerpt(partial),
		At:              now,
	}, true
}

// reduce keeps the metadata and the health of an object.
func reduce(object runtime.Object) (*metav1.PartialObjectMetadata, tracker.Health, error) {
	switch typed := object.(type) {
	case *metav1.PartialObjectMetadata:
		return typed, tracker.HealthOfMetadata(typed), nil
	case *bounded.WholeObject:
		return typed.PartialObjectMetadata, tracker.HealthOf(typed.Content), nil
	case *unstructured.Unstructured:
		partial := &metav1.PartialObjectMetadata{}
		metadata, _, err := unstructured.NestedMap(typed.Object, "metadata")
		if err != nil {
			return nil, tracker.Health{}, err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"metadata": metadata}, partial); err != nil {
			return nil, tracker.Health{}, err
		}
		return partial, tracker.HealthOf(typed), nil
	}
	return nil, tracker.Health{}, errors.New("neither metadata nor a whole object")
}
