package policy

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// catchUp is how long a reconcile is put off whose cache is behind this process's own writes.
const catchUp = 100 * time.Millisecond

// Reconciler rolls the policies of one kind out.
type Reconciler[P Policy, T Target] struct {
	// Client reads from the manager's cache, which holds ConfigMaps, Secrets and Namespaces as
	// metadata only.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	// Recorder tells people what they would otherwise miss.
	Recorder events.EventRecorder
	// Clock tells when a gate opens.
	Clock clock.PassiveClock
	// Kind of the policies.
	Kind Kind[P, T]
	// ProviderNamespace is where policies may select clusters of other namespaces.
	ProviderNamespace string

	expectations expectations[T]
	contents     contentCache
	parameters   parameterCache
	abandoned    abandonedMemory[T]
	woken        chan event.GenericEvent
}

// Reconcile brings one policy a step further.
func (r *Reconciler[P, T]) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	seen, err := r.observe(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	if seen == nil {
		r.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if seen.cacheBehind {
		return reconcile.Result{RequeueAfter: catchUp}, nil
	}

	planned := makePlan(r.Kind, *seen)
	done := r.apply(ctx, seen, planned)
	if done.removed {
		r.announceAbandoned(*seen)
		r.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}

	reported := makeReport(r.Kind, *seen, planned, done)
	err = r.publish(ctx, seen.policy, reported)
	switch {
	case err == nil:
		r.abandoned.forget(request.NamespacedName, seen.abandoned)
	case apierrors.IsConflict(err):
		done.outdated, err = true, nil
	}
	if err := errors.Join(done.err, err); err != nil {
		return reconcile.Result{}, err
	}
	if done.outdated {
		return reconcile.Result{RequeueAfter: catchUp}, nil
	}
	return reconcile.Result{RequeueAfter: done.requeueAfter(reported.again)}, nil
}

func (r *Reconciler[P, T]) forget(policy types.NamespacedName) {
	r.expectations.forget(policy)
	r.contents.forget(policy)
	r.abandoned.forgetAll(policy)
	r.Kind.Forget(policy)
}
