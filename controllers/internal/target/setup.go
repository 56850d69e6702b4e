package target

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/connectivity"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

// Priorities in the queue: drift is put right before anything else.
const (
	priorityDrift = 100
	priorityPlain = 0
)

// spread is over how long the targets of a cluster that was lost are told of it, so that a large one
// does not write all their statuses at once.
const spread = 2 * time.Second

// longestReconcile ends a reconcile in a cluster that answers, but not in time: each request has a limit
// of its own, and there may be thousands. What was done by then is not done again.
const longestReconcile = 10 * time.Minute

// clusterIndex finds the targets in a TenantCluster.
const clusterIndex = "spec.clusterRef"

// Options of the controller.
type Options struct {
	// MaxConcurrentReconciles is how many targets are worked on at a time; default 32.
	MaxConcurrentReconciles int
	// Wrap decorates the reconciler, if it is not nil.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// SetupWithManager starts the controller with the manager, under the name of the kind.
func (r *Reconciler[T, S, M]) SetupWithManager(mgr ctrl.Manager, options Options) error {
	name := r.Kind.Name()
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), r.Kind.New(), clusterIndex, indexCluster); err != nil {
		return fmt.Errorf("index %ss by cluster: %w", name, err)
	}
	if options.MaxConcurrentReconciles == 0 {
		options.MaxConcurrentReconciles = 32
	}
	var reconciler reconcile.Reconciler = r
	if options.Wrap != nil {
		reconciler = options.Wrap(r)
	}
	changed := predicate.And(r.caughtUp(),
		predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{}))
	return ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(name)).
		For(r.Kind.New(), builder.WithPredicates(changed)).
		Watches(&tenancyv1alpha1.TenantCluster{}, r.tenantChanges()).
		WatchesRawSource(source.Func(r.subscribe)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: options.MaxConcurrentReconciles,
			ReconciliationTimeout:   longestReconcile,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, 5*time.Minute),
		}).
		Complete(reconciler)
}

// caughtUp lets every event through, and forgets what was remembered until the cache shows it.
func (r *Reconciler[T, S, M]) caughtUp() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(updated event.UpdateEvent) bool {
		r.memory.shown(updated.ObjectNew.(T))
		return true
	}}
}

func indexCluster(object client.Object) []string {
	return []string{ClusterKey(object.(metav1alpha1.Target)).String()}
}

// targetsIn lists the targets of the kind in a cluster, from the cache.
func (r *Reconciler[T, S, M]) targetsIn(ctx context.Context, cluster types.NamespacedName) ([]T, error) {
	list := r.Kind.NewList()
	if err := r.Client.List(ctx, list, client.MatchingFields{clusterIndex: cluster.String()}); err != nil {
		return nil, fmt.Errorf("list the %ss in %s: %w", r.Kind.Name(), cluster, err)
	}
	var targets []T
	return targets, meta.EachListItem(list, func(one runtime.Object) error {
		targets = append(targets, one.(T))
		return nil
	})
}

func everyTarget(metav1alpha1.Target) bool { return true }

func (r *Reconciler[T, S, M]) enqueue(ctx context.Context, cluster types.NamespacedName, which func(metav1alpha1.Target) bool, add func(reconcile.Request)) {
	targets, err := r.targetsIn(ctx, cluster)
	if err != nil {
		r.Log.Error(err, "the targets in a cluster are not told of its change", "cluster", cluster.String())
		return
	}
	for _, one := range targets {
		if which(one) {
			add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(one)})
		}
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// tenantChanges tells the targets of what people change on their TenantCluster, and of its loss.
func (r *Reconciler[T, S, M]) tenantChanges() handler.EventHandler {
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue queue) {
			before, after := e.ObjectOld.(*tenancyv1alpha1.TenantCluster), e.ObjectNew.(*tenancyv1alpha1.TenantCluster)
			if before.Generation == after.Generation && !(predicate.AnnotationChangedPredicate{}).Update(e) &&
				connectivity.WhyUnreachable(before) == connectivity.WhyUnreachable(after) && upgradeOf(before) == upgradeOf(after) &&
				before.TakesClusterAlong() == after.TakesClusterAlong() && equality.Semantic.DeepEqual(before.Status.Deletion, after.Status.Deletion) {
				return
			}
			r.enqueue(ctx, client.ObjectKeyFromObject(after), everyTarget, func(request reconcile.Request) {
				queue.AddAfter(request, rand.N(spread))
			})
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue queue) {
			r.enqueue(ctx, client.ObjectKeyFromObject(e.Object), everyTarget, func(request reconcile.Request) { queue.Add(request) })
		},
	}
}

// subscribe turns what the fleet tells into requests. That a cluster was lost comes by way of its
// TenantCluster, with the reason. If that said so before, as after a start of the manager, nothing comes: what is
// deleted has waited for just this.
func (r *Reconciler[T, S, M]) subscribe(ctx context.Context, queue queue) error {
	r.Fleet.Subscribe(fleet.Subscriber{
		Object: func(owner fleet.Owner, drifted bool) {
			if owner.Kind == r.Kind.Name() {
				add(queue, reconcile.Request{NamespacedName: owner.NamespacedName}, drifted)
			}
		},
		Cluster: func(key types.NamespacedName) {
			which := everyTarget
			if _, connected := r.Fleet.Get(key); !connected {
				which = isDeleted
			}
			r.enqueue(ctx, key, which, func(request reconcile.Request) { queue.Add(request) })
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
