package addonrelease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
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

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
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

// clusterIndex finds the releases in a TenantCluster.
const clusterIndex = "spec.clusterRef"

// Options of the controller.
type Options struct {
	// MaxConcurrentReconciles is how many releases are worked on at a time; default 32.
	MaxConcurrentReconciles int
	// Wrap decorates the reconciler, if it is not nil.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options Options) error {
	r.caches = newCaches()
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &addonsv1alpha1.AddonRelease{}, clusterIndex, indexCluster); err != nil {
		return fmt.Errorf("index AddonReleases by cluster: %w", err)
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
		Named("addonrelease").
		For(&addonsv1alpha1.AddonRelease{}, builder.WithPredicates(changed)).
		Watches(&tenancyv1alpha1.TenantCluster{}, r.tenantChanges()).
		WatchesRawSource(source.Func(r.subscribe)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: options.MaxConcurrentReconciles,
			ReconciliationTimeout:   longestReconcile,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, 5*time.Minute),
		}).
		Complete(reconciler)
}

// caughtUp lets every event through, and lets go of what was remembered until the cache shows it.
func (r *Reconciler) caughtUp() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(updated event.UpdateEvent) bool {
		r.memory.shown(updated.ObjectNew.(*addonsv1alpha1.AddonRelease))
		return true
	}}
}

func indexCluster(object client.Object) []string {
	return []string{clusterKey(object.(*addonsv1alpha1.AddonRelease)).String()}
}

// releasesIn lists the releases in a cluster, from the cache.
func (r *Reconciler) releasesIn(ctx context.Context, cluster types.NamespacedName) ([]addonsv1alpha1.AddonRelease, error) {
	var list addonsv1alpha1.AddonReleaseList
	if err := r.Client.List(ctx, &list, client.MatchingFields{clusterIndex: cluster.String()}); err != nil {
		return nil, fmt.Errorf("list the AddonReleases in %s: %w", cluster, err)
	}
	return list.Items, nil
}

func everyRelease(*addonsv1alpha1.AddonRelease) bool { return true }

func deletedRelease(release *addonsv1alpha1.AddonRelease) bool {
	return !release.DeletionTimestamp.IsZero()
}

func (r *Reconciler) enqueue(ctx context.Context, cluster types.NamespacedName, which func(*addonsv1alpha1.AddonRelease) bool, add func(reconcile.Request)) {
	releases, err := r.releasesIn(ctx, cluster)
	if err != nil {
		r.Log.Error(err, "the releases of a cluster are not told of its change", "cluster", cluster.String())
		return
	}
	for i := range releases {
		if which(&releases[i]) {
			add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&releases[i])})
		}
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// tenantChanges tells the releases of what people change on their TenantCluster, and of its loss.
func (r *Reconciler) tenantChanges() handler.EventHandler {
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue queue) {
			before, after := e.ObjectOld.(*tenancyv1alpha1.TenantCluster), e.ObjectNew.(*tenancyv1alpha1.TenantCluster)
			if before.Generation == after.Generation && !(predicate.AnnotationChangedPredicate{}).Update(e) &&
				whyUnreachable(before) == whyUnreachable(after) && upgradeOf(before) == upgradeOf(after) &&
				before.TakesClusterAlong() == after.TakesClusterAlong() && equality.Semantic.DeepEqual(before.Status.Deletion, after.Status.Deletion) {
				return
			}
			r.enqueue(ctx, client.ObjectKeyFromObject(after), everyRelease, func(request reconcile.Request) {
				queue.AddAfter(request, rand.N(spread))
			})
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue queue) {
			r.enqueue(ctx, client.ObjectKeyFromObject(e.Object), everyRelease, func(request reconcile.Request) { queue.Add(request) })
		},
	}
}

// subscribe turns what the fleet tells into requests. That a cluster was lost comes by way of its
// TenantCluster, with the reason. If that said so before, as after a start of the manager, nothing comes: what is
// deleted has waited for just this.
func (r *Reconciler) subscribe(ctx context.Context, queue queue) error {
	r.Fleet.Subscribe(fleet.Subscriber{
		Object: func(owner fleet.Owner, drifted bool) {
			if owner.Kind == ownerKind {
				add(queue, reconcile.Request{NamespacedName: owner.NamespacedName}, drifted)
			}
		},
		Cluster: func(key types.NamespacedName) {
			which := everyRelease
			if _, connected := r.Fleet.Get(key); !connected {
				which = deletedRelease
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
