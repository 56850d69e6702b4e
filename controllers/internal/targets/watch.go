package targets

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// ToRequests are the requests that follow from an event in a cluster.
type ToRequests func(ctx context.Context, cluster types.NamespacedName) []reconcile.Request

// Events that a watcher of members wants. That one was created is none.
type Events struct {
	// Updated is whether a change is wanted.
	Updated func(before, after Member) bool
	// Deleted: it is wanted that a member is gone.
	Deleted bool
}

// Watch has a controller make requests for the clusters of members of any kind.
func (r Registry) Watch(b *builder.Builder, events Events, toRequests ToRequests) {
	for _, kind := range r {
		b.Watches(kind.New(), memberEvents(kind, toRequests), builder.WithPredicates(predicate.Funcs{
			CreateFunc:  func(event.CreateEvent) bool { return false },
			GenericFunc: func(event.GenericEvent) bool { return false },
			DeleteFunc:  func(event.DeleteEvent) bool { return events.Deleted },
			UpdateFunc: func(e event.UpdateEvent) bool {
				return events.Updated(kind.Member(e.ObjectOld), kind.Member(e.ObjectNew))
			},
		}))
	}
}

// memberEvents makes requests for the clusters in which a member works, and for those in which it did until now.
func memberEvents(kind *Kind, toRequests ToRequests) handler.EventHandler {
	wake := func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request], objects ...client.Object) {
		woken := map[types.NamespacedName]bool{}
		for _, object := range objects {
			for _, cluster := range kind.View(object).Clusters {
				if woken[cluster] {
					continue
				}
				woken[cluster] = true
				for _, request := range toRequests(ctx, cluster) {
					queue.Add(request)
				}
			}
		}
	}
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(ctx, queue, e.ObjectNew, e.ObjectOld)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(ctx, queue, e.Object)
		},
	}
}

// WatchPolicies has a controller make requests for all clusters of a policy that changed, of any kind. Members are read
// from the cache.
func (r Registry) WatchPolicies(b *builder.Builder, cache client.Reader, changed func(before, after metav1alpha1.Policy) bool, toRequests ToRequests) {
	for _, kind := range r {
		if kind.Policy == nil {
			continue
		}
		ofPolicy := func(ctx context.Context, policy client.Object) (requests []reconcile.Request) {
			members, err := kind.list(ctx, cache, client.InNamespace(policy.GetNamespace()), client.MatchingLabels{metav1alpha1.LabelPolicy: policy.GetName()})
			if err != nil {
				logf.FromContext(ctx).Error(err, "the clusters of a policy are not told of its change", "object", client.ObjectKeyFromObject(policy).String())
			}
			for _, member := range members {
				for _, cluster := range member.Clusters {
					requests = append(requests, toRequests(ctx, cluster)...)
				}
			}
			return requests
		}
		b.Watches(kind.Policy.New(), handler.EnqueueRequestsFromMapFunc(ofPolicy), builder.WithPredicates(predicate.Funcs{
			CreateFunc:  func(event.CreateEvent) bool { return false },
			GenericFunc: func(event.GenericEvent) bool { return false },
			DeleteFunc:  func(event.DeleteEvent) bool { return false },
			UpdateFunc: func(e event.UpdateEvent) bool {
				return changed(e.ObjectOld.(metav1alpha1.Policy), e.ObjectNew.(metav1alpha1.Policy))
			},
		}))
	}
}
