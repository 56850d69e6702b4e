package graceful

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// InGroup lets a reconcile of inner go on for up to the group's grace after its context has ended, and starts none whose context
// has ended already. A deadline of the context holds as it is. The reconciler ends with the others of the group.
func InGroup[request comparable](group *Group, inner reconcile.TypedReconciler[request]) reconcile.TypedReconciler[request] {
	return &reconciler[request]{inner: inner, group: group}
}

type reconciler[request comparable] struct {
	inner reconcile.TypedReconciler[request]
	group *Group
}

// Reconcile implements reconcile.TypedReconciler.
func (r *reconciler[request]) Reconcile(ctx context.Context, req request) (reconcile.Result, error) {
	r.group.begin()
	defer r.group.end()
	if ctx.Err() != nil {
		return reconcile.Result{}, nil
	}
	inner, cancel := r.outlive(context.WithValue(ctx, endingKey{}, ctx))
	defer cancel()
	return r.inner.Reconcile(inner, req)
}

type endingKey struct{}

// IsEnding is whether the manager that runs this reconcile was told to stop. No later reconcile of that manager does what is put
// off now.
func IsEnding(ctx context.Context) bool {
	manager, ok := ctx.Value(endingKey{}).(context.Context)
	return ok && manager.Err() != nil
}

// outlive returns a context with the values and the deadline of ctx that ends the grace period later.
func (r *reconciler[request]) outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	inner, cancel := withoutCancel(ctx)
	forget := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(r.group.Grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-inner.Done():
		}
	})
	return inner, func() {
		forget()
		cancel()
	}
}

func withoutCancel(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(context.WithoutCancel(ctx), deadline)
	}
	return context.WithCancel(context.WithoutCancel(ctx))
}
