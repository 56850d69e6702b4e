package clusterwatch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/connectivity"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/pace"
)

// Priorities in the queue: drift is put right before anything else.
const (
	priorityDrift = 100
	priorityPlain = 0
)

// spread is over how long the objects of a cluster that was lost are told of it, so that a large one
// does not write all their statuses at once.
const spread = 2 * time.Second

// clusterIndex finds the objects that work in a TenantCluster.
const clusterIndex = "daytwo.clusters"

// Watch wakes the objects of one kind.
type Watch[T client.Object] struct {
	// Client reads from the manager's cache.
	Client client.Reader
	Fleet  *fleet.Fleet
	Log    logr.Logger
	// Kind is the name of the kind, as in "AddonRelease": that of the owners in the trackers of clusters.
	Kind string
	// Object is an empty object of the kind, List an empty list.
	Object T
	List   client.ObjectList
	// Clusters are the TenantClusters in which an object works.
	Clusters func(T) []types.NamespacedName
	// IsRemoved is whether an object removes what it has in its clusters, and so waits to hear that one does not answer.
	IsRemoved func(T) bool
	// Interval is the least time between two reconciles of an object because of what people change on its TenantCluster; 0
	// for none.
	Interval time.Duration

	pace pace.Pace[types.NamespacedName]
}

// AddTo adds the watch to a controller of the kind. Call it once.
func (w *Watch[T]) AddTo(ctx context.Context, indexer client.FieldIndexer, b *builder.Builder) error {
	if err := indexer.IndexField(ctx, w.Object, clusterIndex, w.index); err != nil {
		return fmt.Errorf("index %ss by cluster: %w", w.Kind, err)
	}
	w.pace.Interval = w.Interval
	b.Watches(&tenancyv1alpha1.TenantCluster{}, w.tenantChanges()).WatchesRawSource(source.Func(w.subscribe))
	return nil
}

func (w *Watch[T]) index(object client.Object) (keys []string) {
	for _, cluster := range w.Clusters(object.(T)) {
		keys = append(keys, cluster.String())
	}
	return keys
}

// In lists the objects that work in a cluster, from the cache.
func (w *Watch[T]) In(ctx context.Context, cluster types.NamespacedName) ([]T, error) {
	list := w.List.DeepCopyObject().(client.ObjectList)
	if err := w.Client.List(ctx, list, client.MatchingFields{clusterIndex: cluster.String()}); err != nil {
		return nil, fmt.Errorf("list the %ss in %s: %w", w.Kind, cluster, err)
	}
	var found []T
	return found, meta.EachListItem(list, func(one runtime.Object) error {
		found = append(found, one.(T))
		return nil
	})
}

func (w *Watch[T]) enqueue(ctx context.Context, cluster types.NamespacedName, which func(T) bool, add func(reconcile.Request)) {
	found, err := w.In(ctx, cluster)
	if err != nil {
		w.Log.Error(err, "the objects in a cluster are not told of its change", "cluster", cluster.String())
		return
	}
	for _, one := range found {
		if which(one) {
			add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(one)})
		}
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func (w *Watch[T]) every(T) bool { return true }

// tenantChanges tells objects of what people change on their TenantCluster, and of its loss.
func (w *Watch[T]) tenantChanges() handler.EventHandler {
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue queue) {
			if !isTold(e) {
				return
			}
			key, wait := client.ObjectKeyFromObject(e.ObjectNew), time.Duration(0)
			if isByPeople(e) {
				wait = w.pace.Wait(key, time.Now())
			}
			w.enqueue(ctx, key, w.every, func(request reconcile.Request) { queue.AddAfter(request, wait+rand.N(spread)) })
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue queue) {
			w.pace.Forget(client.ObjectKeyFromObject(e.Object))
			w.enqueue(ctx, client.ObjectKeyFromObject(e.Object), w.every, func(request reconcile.Request) { queue.Add(request) })
		},
	}
}

// isByPeople is whether a change is of nothing but the spec and metadata. People may change those as often as they like.
func isByPeople(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*tenancyv1alpha1.TenantCluster), e.ObjectNew.(*tenancyv1alpha1.TenantCluster)
	return before.DeletionTimestamp.IsZero() == after.DeletionTimestamp.IsZero() && equality.Semantic.DeepEqual(before.Status, after.Status)
}

// isTold is whether a change of a TenantCluster makes a difference to what works in its cluster.
func isTold(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*tenancyv1alpha1.TenantCluster), e.ObjectNew.(*tenancyv1alpha1.TenantCluster)
	return before.Generation != after.Generation || (predicate.AnnotationChangedPredicate{}).Update(e) ||
		connectivity.WhyUnreachable(before) != connectivity.WhyUnreachable(after) || before.TakesClusterAlong() != after.TakesClusterAlong() ||
		!equality.Semantic.DeepEqual(before.Status.Upgrade, after.Status.Upgrade) || !equality.Semantic.DeepEqual(before.Status.Deletion, after.Status.Deletion)
}

// subscribe turns what the fleet tells into requests. That a cluster was lost comes by way of its
// TenantCluster, with the reason. If that said so before, as after a start of the manager, nothing comes: what is
// removed has waited for just this.
func (w *Watch[T]) subscribe(ctx context.Context, queue queue) error {
	w.Fleet.Subscribe(fleet.Subscriber{
		Object: func(owner tracker.Owner, drifted bool) {
			if owner.Kind == w.Kind {
				add(queue, reconcile.Request{NamespacedName: owner.NamespacedName}, drifted)
			}
		},
		Cluster: func(key types.NamespacedName) {
			which := w.every
			if _, connected := w.Fleet.Get(key); !connected {
				which = w.IsRemoved
			}
			w.enqueue(ctx, key, which, func(request reconcile.Request) { queue.Add(request) })
		},
	})
	return nil
}

func add(queue queue, request reconcile.Request, drifted bool) {
	prioritized, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		queue.Add(request)
		return
	}
	priority := priorityPlain
	if drifted {
		priority = priorityDrift
	}
	prioritized.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(priority)}, request)
}
