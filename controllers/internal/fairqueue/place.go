package fairqueue

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daytwo-dev/daytwo/controllers/internal/fairshare"
)

// longestLookup is how long an object is looked up in the cache, which may have to be filled first.
const longestLookup = 10 * time.Second

// Place is where the work on a key is done, and for whom.
type Place struct {
	// Tenant is the namespace of the customer for whom it is done.
	Tenant string
	// Cluster in which it is done; the zero value if that is none, or several.
	Cluster types.NamespacedName
	// Urgent work comes before all other work of the tenant.
	Urgent bool
}

func (p Place) claim(priority int) fairshare.Claim {
	claim := fairshare.Claim{Tenant: p.Tenant, Urgent: p.Urgent, Priority: priority}
	if p.Cluster != (types.NamespacedName{}) {
		claim.Group = p.Cluster.String()
	}
	return claim
}

// ByNamespace is the place of work on what is in the namespace of a customer.
func ByNamespace(request reconcile.Request) Place { return Place{Tenant: request.Namespace} }

// InCluster returns the places of objects of one kind: each works in one cluster, whose namespace is that of the customer.
// One for which cluster says none counts for its own namespace, and so does one that has gone from the cache, for which
// there is little to do. Objects that are being deleted are urgent.
func InCluster[T client.Object](cache client.Reader, empty func() T, cluster func(T) types.NamespacedName) func(reconcile.Request) Place {
	return func(request reconcile.Request) Place {
		ctx, cancel := context.WithTimeout(context.Background(), longestLookup)
		defer cancel()
		object := empty()
		if err := cache.Get(ctx, request.NamespacedName, object, &client.GetOptions{UnsafeDisableDeepCopy: ptr.To(true)}); err != nil {
			return ByNamespace(request)
		}
		key := cluster(object)
		return Place{Tenant: cmp.Or(key.Namespace, request.Namespace), Cluster: key, Urgent: !object.GetDeletionTimestamp().IsZero()}
	}
}

// InNamespace returns the places of objects of one kind that are in the namespace of a customer, and work in no cluster.
// Objects that are being deleted are urgent.
func InNamespace[T client.Object](cache client.Reader, empty func() T) func(reconcile.Request) Place {
	return InCluster(cache, empty, func(T) types.NamespacedName { return types.NamespacedName{} })
}

// For returns what controller.TypedOptions.NewQueue is for a controller with so many workers.
func For[K comparable](workers int, locate func(K) Place) func(string, workqueue.TypedRateLimiter[K]) workqueue.TypedRateLimitingInterface[K] {
	return func(controller string, limiter workqueue.TypedRateLimiter[K]) workqueue.TypedRateLimitingInterface[K] {
		return New(controller, limiter, workers, locate)
	}
}
