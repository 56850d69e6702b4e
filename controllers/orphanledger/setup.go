package orphanledger

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
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
	toLedger := handler.EnqueueRequestsFromMapFunc(r.toLedger)
	return ctrl.NewControllerManagedBy(mgr).
		Named("orphanledger").
		WatchesMetadata(&corev1.ConfigMap{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(isLedger())).
		Watches(&tenancyv1alpha1.TenantCluster{}, toLedger, builder.WithPredicates(clusterChanged())).
		Watches(&addonsv1alpha1.AddonRelease{}, handler.EnqueueRequestsFromMapFunc(r.toLedgerOfTarget), builder.WithPredicates(targetSettled())).
		WatchesRawSource(source.Func(r.subscribe)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			ReconciliationTimeout:   longestReconcile,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryLast),
		}).
		Complete(reconciler)
}

func isLedger() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetName() == orphans.Name })
}

// toLedger wakes the ledger of an object's namespace, if there is one.
func (r *Reconciler) toLedger(ctx context.Context, object client.Object) []reconcile.Request {
	return r.ledgerOf(ctx, object.GetNamespace())
}

// toLedgerOfTarget wakes the ledger of a release's cluster.
func (r *Reconciler) toLedgerOfTarget(ctx context.Context, object client.Object) []reconcile.Request {
	return r.ledgerOf(ctx, object.(*addonsv1alpha1.AddonRelease).Spec.ClusterRef.Namespace)
}

func (r *Reconciler) ledgerOf(ctx context.Context, namespace string) []reconcile.Request {
	key := types.NamespacedName{Namespace: namespace, Name: orphans.Name}
	ledger := &metav1.PartialObjectMetadata{}
	ledger.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if err := r.Client.Get(ctx, key, ledger); err != nil {
		return nil // There is none, or its own event is about to come.
	}
	return []reconcile.Request{{NamespacedName: key}}
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

// targetSettled lets through what a sweep may have waited for: a release was applied, or went.
func targetSettled() predicate.Predicate {
	isApplied := func(object client.Object) bool { return isApplied(object.(*addonsv1alpha1.AddonRelease)) }
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(updated event.UpdateEvent) bool {
			return !isApplied(updated.ObjectOld) && isApplied(updated.ObjectNew)
		},
	}
}

// subscribe wakes the ledger of a cluster that can be worked with again.
func (r *Reconciler) subscribe(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.Fleet.Subscribe(fleet.Subscriber{Cluster: func(key types.NamespacedName) {
		if _, connected := r.Fleet.Get(key); !connected {
			return
		}
		for _, request := range r.ledgerOf(ctx, key.Namespace) {
			queue.Add(request)
		}
	}})
	return nil
}
