package run

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

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/clusterwatch"
	"github.com/daytwo-dev/daytwo/controllers/internal/fairqueue"
)

// longestReconcile ends a reconcile in clusters that answer, but not in time. A step is a few requests.
const longestReconcile = 2 * time.Minute

// Options of the controller.
type Options struct {
	// MaxConcurrentReconciles is how many runs are worked on at a time; default 8.
	MaxConcurrentReconciles int
	// Wrap decorates the reconciler, if it is not nil.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
	// AtEnd has something done once the manager was told to stop and no reconcile is under way; nil where statuses that were
	// put off need not be written then.
	AtEnd func(do func(ctx context.Context) error) error
}

// SetupWithManager starts the controller with the manager, under the name of the kind.
func (r *Reconciler[R, S]) SetupWithManager(mgr ctrl.Manager, options Options) error {
	name := r.Kind.Name()
	if options.MaxConcurrentReconciles == 0 {
		options.MaxConcurrentReconciles = 8
	}
	if options.AtEnd != nil {
		if err := options.AtEnd(r.WriteUnsaved); err != nil {
			return err
		}
	}
	var reconciler reconcile.Reconciler = r
	if options.Wrap != nil {
		reconciler = options.Wrap(r)
	}
	changed := predicate.And(r.written.CaughtUp(), predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))
	b := ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(name)).
		For(r.Kind.New(), builder.WithPredicates(changed)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: options.MaxConcurrentReconciles,
			NewQueue:                fairqueue.For(options.MaxConcurrentReconciles, fairqueue.InCluster(r.Client, r.Kind.New, firstClusterOf[R])),
			ReconciliationTimeout:   longestReconcile,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, 5*time.Minute),
		})
	if watching, ok := r.Kind.(WatchingKind); ok {
		watching.AddWatches(b)
	}
	r.clusters = clusterwatch.Watch[R]{
		Client: r.Client, Fleet: r.Fleet, Log: r.Log, Kind: name, Object: r.Kind.New(), List: r.Kind.NewList(),
		Clusters:  func(run R) []types.NamespacedName { return clustersOf(run) },
		IsRemoved: func(R) bool { return true },
	}
	if err := r.clusters.AddTo(context.Background(), mgr.GetFieldIndexer(), b); err != nil {
		return err
	}
	r.tasks = background.New[func(*S)](isRefusal)
	if err := r.tasks.AddTo(mgr, b); err != nil {
		return err
	}
	return b.Complete(reconciler)
}

// clustersOf are the clusters in which a run works; none once it has finished.
func clustersOf(run metav1alpha1.Run) (keys []types.NamespacedName) {
	status := run.GetRunStatus()
	if status.FinishedAt != nil {
		return nil
	}
	for _, ref := range status.Clusters {
		keys = append(keys, Key(ref))
	}
	return keys
}

// firstClusterOf is the cluster for whose owner a run is worked on: none where it works in none.
func firstClusterOf[R metav1alpha1.Run](run R) types.NamespacedName {
	if clusters := clustersOf(run); len(clusters) > 0 {
		return clusters[0]
	}
	return types.NamespacedName{}
}
