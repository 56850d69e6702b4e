package target

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daytwo-dev/daytwo/controllers/internal/clusterwatch"
	"github.com/daytwo-dev/daytwo/controllers/internal/fairqueue"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

// longestReconcile ends a reconcile in a cluster that answers, but not in time: each request has a limit
// of its own, and there may be thousands. What was done by then is not done again.
const longestReconcile = 10 * time.Minute

// Options of the controller.
type Options struct {
	// MaxConcurrentReconciles is how many targets are worked on at a time; default 32.
	MaxConcurrentReconciles int
	// Wrap decorates the reconciler, if it is not nil.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
	// StatusPause is between two statuses of a target that only mirror its health.
	StatusPause throttle.Pause
	// ClusterInterval is the least time between two reconciles of a target because of what people change on its
	// TenantCluster; 0 for none.
	ClusterInterval time.Duration
	// AtEnd has something done once the manager was told to stop and no reconcile is under way; nil where statuses that were
	// put off need not be written then.
	AtEnd func(do func(ctx context.Context) error) error
}

// SetupWithManager starts the controller with the manager, under the name of the kind.
func (r *Reconciler[T, S, M]) SetupWithManager(mgr ctrl.Manager, options Options) error {
	name := r.Kind.Name()
	if options.MaxConcurrentReconciles == 0 {
		options.MaxConcurrentReconciles = 32
	}
	if options.AtEnd != nil {
		if err := options.AtEnd(r.WriteUnsaved); err != nil {
			return err
		}
	}
	r.pause = options.StatusPause
	var reconciler reconcile.Reconciler = r
	if options.Wrap != nil {
		reconciler = options.Wrap(r)
	}
	changed := predicate.And(r.written.CaughtUp(),
		predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{}))
	clusterOf := func(target T) types.NamespacedName { return ClusterKey(target) }
	b := ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(name)).
		For(r.Kind.New(), builder.WithPredicates(changed)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: options.MaxConcurrentReconciles,
			NewQueue:                fairqueue.For(options.MaxConcurrentReconciles, fairqueue.InCluster(r.Client, r.Kind.New, clusterOf)),
			ReconciliationTimeout:   longestReconcile,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, 5*time.Minute),
		})
	r.clusters = clusterwatch.Watch[T]{
		Client: r.Client, Fleet: r.Fleet, Log: r.Log, Kind: name, Object: r.Kind.New(), List: r.Kind.NewList(),
		Clusters:  func(target T) []types.NamespacedName { return []types.NamespacedName{clusterOf(target)} },
		IsRemoved: func(target T) bool { return isDeleted(target) }, Interval: options.ClusterInterval,
	}
	if err := r.clusters.AddTo(context.Background(), mgr.GetFieldIndexer(), b); err != nil {
		return err
	}
	if err := r.watchSecrets(context.Background(), mgr.GetFieldIndexer(), b); err != nil {
		return err
	}
	if r.AddWatches != nil {
		r.AddWatches(b)
	}
	return b.Complete(reconciler)
}
