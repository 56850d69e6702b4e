package clusternamespace

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusterapi"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusternamespace/secretsrole"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// Backoff of a namespace whose reconcile failed; each has its own.
const (
	retryFirst = 100 * time.Millisecond
	retryMax   = 5 * time.Minute
)

// Options of the controller.
type Options struct {
	// Orders is what the provider decides for all orders.
	Orders topology.Options
	// Secrets are those that the manager reads. Where that is not all, it needs a role in each namespace that it makes.
	Secrets *secretaccess.Access
	// Wrap decorates the reconciler, if set.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// SetupWithManager adds the controller to the manager.
func SetupWithManager(mgr manager.Manager, options Options) error {
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), options: options.Orders.Complete(),
		secrets: secretsrole.Binder{Client: mgr.GetClient(), Access: options.Secrets},
	}
	var reconciler reconcile.Reconciler = r
	if options.Wrap != nil {
		reconciler = options.Wrap(r)
	}
	built, err := builder.ControllerManagedBy(mgr).
		Named("clusternamespace").
		Watches(&tenancyv1alpha1.TenantCluster{}, handler.EnqueueRequestsFromMapFunc(toNamespace), builder.WithPredicates(orderChanged())).
		WatchesMetadata(metadata(), handler.EnqueueRequestsFromMapFunc(r.toCustomer)).
		WatchesMetadata(objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret")), handler.EnqueueRequestsFromMapFunc(r.toEmptied), builder.WithPredicates(gone())).
		WatchesMetadata(optionalkind.Definition(), handler.EnqueueRequestsFromMapFunc(toAnyNamespace)).
		WithOptions(controller.Options{
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMax),
		}).
		Build(reconciler)
	if err != nil {
		return fmt.Errorf("controller clusternamespace: %w", err)
	}
	r.clusters = &optionalkind.Kind[reconcile.Request]{
		Definition: clusterapi.Definition, GVK: clusterapi.Kind, New: func() client.Object { return objects.MetadataOf(clusterapi.Kind) },
		Cache: mgr.GetCache(), Mapper: mgr.GetRESTMapper(), Controller: built, Wake: r.toNamespacesOf,
	}
	return nil
}

// orderChanged passes the events after which a namespace may be needed, or no longer.
func orderChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return isOrder(e.Object) },
		DeleteFunc: func(e event.DeleteEvent) bool { return isOrder(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return isOrder(e.ObjectOld) != isOrder(e.ObjectNew) || e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// gone passes deletions alone.
func gone() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return true },
	}
}

func isOrder(object client.Object) bool {
	cluster, ok := object.(*tenancyv1alpha1.TenantCluster)
	return ok && cluster.Spec.Topology != nil
}

func toNamespace(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{of(object.GetNamespace())}
}

// toEmptied wakes the customer whose namespace for Clusters lost a Secret: the garbage collector takes those of a Cluster away after it.
func (r *reconciler) toEmptied(_ context.Context, secret client.Object) []reconcile.Request {
	customer, found := r.options.CustomerOf(secret.GetNamespace())
	if !found {
		return nil
	}
	return []reconcile.Request{of(customer)}
}

// toCustomer wakes a namespace, and the customer's whose Clusters it has by its name.
func (r *reconciler) toCustomer(_ context.Context, namespace client.Object) []reconcile.Request {
	return r.requests(namespace.GetName())
}

// toNamespacesOf wakes for a Cluster.
func (r *reconciler) toNamespacesOf(_ context.Context, cluster client.Object) []reconcile.Request {
	return r.requests(cluster.GetNamespace())
}

func (r *reconciler) requests(namespace string) []reconcile.Request {
	requests := []reconcile.Request{of(namespace)}
	if customer, found := r.options.CustomerOf(namespace); found {
		requests = append(requests, of(customer))
	}
	return requests
}

// toAnyNamespace has the watch of Clusters begin or end, whatever namespace is looked at.
func toAnyNamespace(_ context.Context, definition client.Object) []reconcile.Request {
	if definition.GetName() != clusterapi.Definition {
		return nil
	}
	return []reconcile.Request{of(metav1.NamespaceDefault)}
}

func of(namespace string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: namespace}}
}
