package policy

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/clusterstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/targetstate"
)

// coalescing is how long events of targets and clusters wait for others of the same policy.
// Targets become ready in bursts; one reconcile and one status write then do for the burst,
// and a freed slot is used again within a small part of the time that a target takes.
const coalescing = 50 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// targetEvents keeps what changed of a target for its policy, and wakes the policy when something changed that it reports
// or decides by.
func (r *Reconciler[P, T]) targetEvents() handler.EventHandler {
	note := func(target T) {
		r.views.noteTarget(keyOfPolicy(target), keyOf(target))
		r.abandoned.Note(keyOfPolicy(target), target, func() []string { return r.Kind.Objects(target) })
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, created event.CreateEvent, queue queue) {
			note(created.Object.(T))
			wake(queue, keyOfPolicy(created.Object))
		},
		UpdateFunc: func(_ context.Context, updated event.UpdateEvent, queue queue) {
			before, after := updated.ObjectOld.(T), updated.ObjectNew.(T)
			note(after)
			if former := keyOfPolicy(before); former != keyOfPolicy(after) {
				r.views.noteTarget(former, keyOf(before))
				wake(queue, former, keyOfPolicy(after))
			}
			if r.viewOfTarget(before) != r.viewOfTarget(after) {
				wake(queue, keyOfPolicy(after))
			}
		},
		DeleteFunc: func(_ context.Context, deleted event.DeleteEvent, queue queue) {
			target := deleted.Object.(T)
			note(target)
			r.expectations.Gone(keyOfPolicy(target), target.GetName())
			wake(queue, keyOfPolicy(target))
		},
	}
}

// wake has policies reconciled, together with what else happens to them soon.
func wake(queue queue, policies ...types.NamespacedName) { wakeAfter(queue, coalescing, policies...) }

func wakeAfter(queue queue, wait time.Duration, policies ...types.NamespacedName) {
	for _, policy := range policies {
		queue.AddAfter(reconcile.Request{NamespacedName: policy}, wait)
	}
}

// targetView is all that a policy cares for in a target's changes.
type targetView struct {
	generation int64
	state      int
	message    string
	deleting   bool
	abandoned  string
	part       any
	applied    bool
}

func (r *Reconciler[P, T]) viewOfTarget(target T) targetView {
	state, message := r.Kind.State(target)
	return targetView{
		generation: target.GetGeneration(), state: int(state), message: message,
		deleting: !target.GetDeletionTimestamp().IsZero(), abandoned: target.GetAnnotations()[metav1alpha1.AnnotationAbandon],
		part: partOf(r.Kind, target), applied: targetstate.IsApplied(target),
	}
}

func keyOfPolicy(target client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: target.GetNamespace(), Name: target.GetLabels()[metav1alpha1.LabelPolicy]}
}

// clusterEvents keeps what changed of a cluster for the policies that select it, or did before, and wakes them.
func (r *Reconciler[P, T]) clusterEvents() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, created event.CreateEvent, queue queue) {
			wake(queue, r.views.noteCluster(created.Object.(*tenancyv1alpha1.TenantCluster))...)
		},
		UpdateFunc: func(_ context.Context, updated event.UpdateEvent, queue queue) {
			before, after := updated.ObjectOld.(*tenancyv1alpha1.TenantCluster), updated.ObjectNew.(*tenancyv1alpha1.TenantCluster)
			concerned := r.views.noteCluster(before, after)
			if clusterstate.Changed(before, after) {
				wakeAfter(queue, max(coalescing, r.waitOf(before, after)), concerned...)
			}
		},
		DeleteFunc: func(_ context.Context, deleted event.DeleteEvent, queue queue) {
			cluster := deleted.Object.(*tenancyv1alpha1.TenantCluster)
			r.pace.Forget(client.ObjectKeyFromObject(cluster))
			wake(queue, r.views.noteCluster(cluster)...)
		},
	}
}

// waitOf is how long a change of a cluster waits for others. What Daytwo finds out of a cluster, and its deletion, wait for
// none; what people change, they may change as often as they like.
func (r *Reconciler[P, T]) waitOf(before, after *tenancyv1alpha1.TenantCluster) time.Duration {
	if !clusterstate.ChangedByPeople(before, after) || r.pace.Interval == 0 {
		return 0
	}
	return r.pace.Wait(client.ObjectKeyFromObject(after), r.Clock.Now())
}

// namespaceEvents wakes the provider's policies that select a namespace and did not before, or the other way round.
func (r *Reconciler[P, T]) namespaceEvents() handler.EventHandler {
	note := func(namespace client.Object, queue queue) {
		wake(queue, r.views.noteNamespace(namespace.GetName(), namespace.GetLabels())...)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, created event.CreateEvent, queue queue) { note(created.Object, queue) },
		UpdateFunc: func(_ context.Context, updated event.UpdateEvent, queue queue) { note(updated.ObjectNew, queue) },
		DeleteFunc: func(_ context.Context, deleted event.DeleteEvent, queue queue) {
			wake(queue, r.views.noteNamespaceGone(deleted.Object.GetName())...)
		},
	}
}

// revisionEvents keeps that revisions changed. One that was deleted is written again.
func (r *Reconciler[P, T]) revisionEvents(kind string) handler.EventHandler {
	note := func(secret client.Object) (types.NamespacedName, bool) {
		ours := secret.GetLabels()[revision.LabelPolicyKind] == kind
		if ours {
			r.views.noteRevisions(keyOfPolicy(secret))
		}
		return keyOfPolicy(secret), ours
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, created event.CreateEvent, _ queue) { note(created.Object) },
		UpdateFunc: func(_ context.Context, updated event.UpdateEvent, _ queue) {
			note(updated.ObjectOld)
			note(updated.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, deleted event.DeleteEvent, queue queue) {
			if policy, ours := note(deleted.Object); ours {
				queue.Add(reconcile.Request{NamespacedName: policy})
			}
		},
	}
}

// policiesReferringTo are the policies that refer to an object of a kind.
func (r *Reconciler[P, T]) policiesReferringTo(kind string) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		wanted := Reference{Kind: kind, Name: object.GetName()}.String()
		requests := r.policiesIn(ctx, object.GetNamespace(), client.MatchingFields{indexReference: wanted})
		for _, request := range requests {
			r.notePairs(request.NamespacedName)
		}
		return requests
	}
}

// notePairs has the kind asked again what a policy wants in each cluster, if it differs by cluster.
func (r *Reconciler[P, T]) notePairs(policy types.NamespacedName) {
	if _, paired := r.Kind.(PairedKind[P, T]); paired {
		r.views.noteAll(policy)
	}
}

// Wake has a policy reconciled: its content is there, or what it wants in a cluster is something else.
func (r *Reconciler[P, T]) Wake(policy types.NamespacedName) {
	r.notePairs(policy)
	r.wake(policy)
}

// WakeCluster has a policy reconciled that wants something else in one cluster. It costs no look at the others.
func (r *Reconciler[P, T]) WakeCluster(policy types.NamespacedName, cluster rollout.ClusterKey) {
	r.views.noteOne(policy, cluster)
	r.wake(policy)
}

func (r *Reconciler[P, T]) wake(policy types.NamespacedName) {
	r.woken <- event.GenericEvent{Object: &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Namespace: policy.Namespace, Name: policy.Name},
	}}
}

func (r *Reconciler[P, T]) policiesIn(ctx context.Context, namespace string, opts ...client.ListOption) []reconcile.Request {
	policies, err := newList(r.Client, r.Kind.NewPolicy())
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
