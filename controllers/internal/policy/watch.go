package policy

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
)

// coalescing is how long events of targets and clusters wait for others of the same policy.
// Targets become ready in bursts; one reconcile and one status write then do for the burst,
// and a freed slot is used again within a small part of the time that a target takes.
const coalescing = 50 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// targetEvents wakes a target's policy when something changed that it reports or decides by.
func (r *Reconciler[P, T]) targetEvents() handler.EventHandler {
	wake := func(target client.Object, queue queue) {
		queue.AddAfter(reconcile.Request{NamespacedName: keyOfPolicy(target)}, coalescing)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, created event.CreateEvent, queue queue) { wake(created.Object, queue) },
		UpdateFunc: func(_ context.Context, updated event.UpdateEvent, queue queue) {
			before, after := updated.ObjectOld.(T), updated.ObjectNew.(T)
			r.abandoned.note(keyOfPolicy(after), after, r.Kind.Objects)
			if r.viewOfTarget(before) != r.viewOfTarget(after) {
				wake(after, queue)
			}
		},
		DeleteFunc: func(_ context.Context, deleted event.DeleteEvent, queue queue) {
			target := deleted.Object.(T)
			r.abandoned.note(keyOfPolicy(target), target, r.Kind.Objects)
			r.expectations.gone(keyOfPolicy(target), target.GetName())
			r.parameters.targets.forget(target.GetUID())
			wake(target, queue)
		},
	}
}

// targetView is all that a policy cares for in a target's changes.
type targetView struct {
	generation int64
	state      int
	message    string
	deleting   bool
	abandoned  string
}

func (r *Reconciler[P, T]) viewOfTarget(target T) targetView {
	state, message := r.Kind.State(target)
	return targetView{
		generation: target.GetGeneration(), state: int(state), message: message,
		deleting: !target.GetDeletionTimestamp().IsZero(), abandoned: target.GetAnnotations()[metav1alpha1.AnnotationAbandon],
	}
}

func keyOfPolicy(target client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: target.GetNamespace(), Name: target.GetLabels()[metav1alpha1.LabelPolicy]}
}

// clusterChanged lets through what decides about selection and rollouts.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(updated event.UpdateEvent) bool {
		before, after := updated.ObjectOld.(*tenancyv1alpha1.TenantCluster), updated.ObjectNew.(*tenancyv1alpha1.TenantCluster)
		return !maps.Equal(before.Labels, after.Labels) || viewOfCluster(before) != viewOfCluster(after)
	}}
}

type clusterView struct {
	connected    bool
	version      string
	suspend      bool
	suspendUntil string
	deleting     bool
	keepsTargets bool
	upgrading    bool
	windows      int
	window       tenancyv1alpha1.Span
}

func viewOfCluster(cluster *tenancyv1alpha1.TenantCluster) clusterView {
	return clusterView{
		connected: isConnected(cluster), version: minorVersion(cluster.Status.Version),
		suspend: cluster.Spec.Suspend, suspendUntil: cluster.Annotations[metav1alpha1.AnnotationSuspendUntil],
		deleting: !cluster.DeletionTimestamp.IsZero(), keepsTargets: cluster.KeepsTargets(), upgrading: cluster.Status.Upgrade != nil,
		windows: len(cluster.Spec.MaintenanceWindows),
		window:  ptr.Deref(cluster.Status.MaintenanceWindow, tenancyv1alpha1.Span{}),
	}
}

// clusterEvents wakes the policies that may select a cluster, or did before.
func (r *Reconciler[P, T]) clusterEvents() handler.EventHandler {
	wake := coalesced(r.policiesOfCluster)
	return handler.Funcs{
		CreateFunc: wake.Create,
		UpdateFunc: wake.Update,
		DeleteFunc: func(ctx context.Context, deleted event.DeleteEvent, queue queue) {
			r.parameters.clusters.forget(deleted.Object.GetUID())
			wake.Delete(ctx, deleted, queue)
		},
	}
}

func (r *Reconciler[P, T]) policiesOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	requests := r.policiesIn(ctx, cluster.GetNamespace())
	if cluster.GetNamespace() == r.ProviderNamespace {
		return requests
	}
	return append(requests, r.policiesIn(ctx, r.ProviderNamespace)...)
}

func (r *Reconciler[P, T]) providerPolicies(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.policiesIn(ctx, r.ProviderNamespace)
}

// policiesReferringTo are the policies that refer to an object of a kind.
func (r *Reconciler[P, T]) policiesReferringTo(kind string) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		wanted := Reference{Kind: kind, Name: object.GetName()}.String()
		return r.policiesIn(ctx, object.GetNamespace(), client.MatchingFields{indexReference: wanted})
	}
}

// Wake has a policy reconciled: its content is there.
func (r *Reconciler[P, T]) Wake(policy types.NamespacedName) {
	r.woken <- event.GenericEvent{Object: &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Namespace: policy.Namespace, Name: policy.Name},
	}}
}

func (r *Reconciler[P, T]) policiesIn(ctx context.Context, namespace string, opts ...client.ListOption) []reconcile.Request {
	policies, err := r.newList(r.Kind.NewPolicy())
	if err == nil {
		err = r.Client.List(ctx, policies, append(opts, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)...)
	}
	var requests []reconcile.Request
	if err == nil {
		err = meta.EachListItem(policies, func(item runtime.Object) error {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item.(P))})
			return nil
		})
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "Policies could not be listed from the cache", "namespace", namespace)
	}
	return requests
}

// policyOfRevision: a revision that was deleted is written again.
func policyOfRevision(kind string) handler.MapFunc {
	return func(_ context.Context, secret client.Object) []reconcile.Request {
		if secret.GetLabels()[revision.LabelPolicyKind] != kind {
			return nil
		}
		return []reconcile.Request{{NamespacedName: keyOfPolicy(secret)}}
	}
}

func onlyDeleted() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}

// coalesced wakes policies together that many events concern.
func coalesced(toPolicies handler.MapFunc) handler.EventHandler {
	wake := func(ctx context.Context, object client.Object, queue queue) {
		for _, request := range toPolicies(ctx, object) {
			queue.AddAfter(request, coalescing)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, created event.CreateEvent, queue queue) { wake(ctx, created.Object, queue) },
		UpdateFunc: func(ctx context.Context, updated event.UpdateEvent, queue queue) { wake(ctx, updated.ObjectNew, queue) },
		DeleteFunc: func(ctx context.Context, deleted event.DeleteEvent, queue queue) { wake(ctx, deleted.Object, queue) },
	}
}
