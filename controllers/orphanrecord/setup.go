package orphanrecord

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fairqueue"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
)

const (
	// workers sweep so many namespaces at a time.
	workers = 4
	// longestReconcile bounds a reconcile, and half of it the work in clusters that answer too slowly: they hold up a
	// worker for no longer. What was not done by then is tried again.
	longestReconcile = time.Minute
)

// Options of the controller.
type Options struct {
	// Wrap decorates the reconciler, if it is not nil.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options Options) error {
	var reconciler reconcile.Reconciler = r
	if options.Wrap != nil {
		reconciler = options.Wrap(r)
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("orphanrecord").
		Watches(&tenancyv1alpha1.OrphanRecord{}, handler.EnqueueRequestsFromMapFunc(toRecord)).
		Watches(&tenancyv1alpha1.TenantCluster{}, handler.EnqueueRequestsFromMapFunc(r.toNamespace), builder.WithPredicates(clusterChanged())).
		WatchesRawSource(source.Func(r.subscribe)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			NewQueue:                fairqueue.For(workers, fairqueue.ByNamespace),
			ReconciliationTimeout:   longestReconcile,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryLast),
		})
	r.Targets.Watch(b, targetSettled(), r.toNamespaceOfCluster)
	return b.Complete(reconciler)
}

// requestFor wakes the records of a namespace.
func requestFor(namespace string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace}}
}

// toNamespace wakes the records of an object's namespace, if there are any.
func (r *Reconciler) toNamespace(ctx context.Context, object client.Object) []reconcile.Request {
	return r.requestsIn(ctx, object.GetNamespace())
}

// toRecord is for the records themselves: their namespace's last one may have gone.
func toRecord(_ context.Context, record client.Object) []reconcile.Request {
	return []reconcile.Request{requestFor(record.GetNamespace())}
}

// toNamespaceOfCluster wakes the records in the namespace of a cluster.
func (r *Reconciler) toNamespaceOfCluster(ctx context.Context, cluster types.NamespacedName) []reconcile.Request {
	return r.requestsIn(ctx, cluster.Namespace)
}

func (r *Reconciler) requestsIn(ctx context.Context, namespace string) []reconcile.Request {
	records := &tenancyv1alpha1.OrphanRecordList{}
	err := r.Client.List(ctx, records, client.InNamespace(namespace), client.Limit(1), client.UnsafeDisableDeepCopy)
	if err != nil || len(records.Items) == 0 {
		return nil // There is none, or its own event is about to come.
	}
	return []reconcile.Request{requestFor(namespace)}
}

// clusterChanged lets through what decides whether a cluster may be swept.
func clusterChanged() predicate.Predicate {
	type view struct {
		id        string
		deleting  bool
		upgrading bool
	}
	viewOf := func(cluster *tenancyv1alpha1.TenantCluster) view {
		return view{cluster.Status.ClusterID, cluster.DeletionTimestamp != nil, cluster.Status.Upgrade != nil}
	}
	changed := predicate.Funcs{UpdateFunc: func(updated event.UpdateEvent) bool {
		before, after := updated.ObjectOld.(*tenancyv1alpha1.TenantCluster), updated.ObjectNew.(*tenancyv1alpha1.TenantCluster)
		return viewOf(before) != viewOf(after) || !equality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions)
	}}
	return predicate.Or(changed, predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}

// targetSettled are the events that a sweep may have waited for: a target was applied, or went.
func targetSettled() targets.Events {
	return targets.Events{
		Updated: func(before, after targets.Member) bool { return !before.Applied && after.Applied },
		Deleted: true,
	}
}

// subscribe wakes the records of a cluster that can be worked with again, or not any longer.
func (r *Reconciler) subscribe(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.Fleet.Subscribe(fleet.Subscriber{Cluster: func(key types.NamespacedName) {
		for _, request := range r.requestsIn(ctx, key.Namespace) {
			queue.Add(request)
		}
	}})
	return nil
}
