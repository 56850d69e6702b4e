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

	"github.com/daytwo-dev/daytwo/controllers/internal/pace"
	"github.com/daytwo-dev/daytwo/controllers/internal/perobject"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/abandoned"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/expectations"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/trial"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/unwritten"
	"github.com/daytwo-dev/daytwo/controllers/internal/postponed"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
	"github.com/daytwo-dev/daytwo/controllers/internal/statuses"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
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

	guardMax     rollout.Guard
	written      statuses.Memory[P]
	views        views
	expectations expectations.Writes
	unwritten    unwritten.Memory
	contents     perobject.Memory[knownContent]
	abandoned    abandoned.Memory
	trials       *trial.Memory
	published    postponed.Memory[P]
	pause        throttle.Pause
	pace         pace.Pace[types.NamespacedName]
	woken        chan event.GenericEvent
}

// Reconcile brings one policy a step further.
func (r *Reconciler[P, T]) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	policy, now := r.Kind.NewPolicy(), r.Clock.Now()
	if err := r.Client.Get(ctx, request.NamespacedName, policy); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	policy = r.written.Of(request.NamespacedName).Of(policy)
	if r.isCacheBehind(ctx, policy, now) {
		return reconcile.Result{RequeueAfter: catchUp}, nil
	}
	again, undecided := r.coordinate(ctx, policy, now)
	if apierrors.IsConflict(undecided) {
		return reconcile.Result{RequeueAfter: catchUp}, nil
	}
	view, err := r.follow(ctx, policy, now)
	if err != nil {
		return r.tellUnreadable(ctx, policy, err, now)
	}
	o, err := r.observe(ctx, policy, view, now)
	if err != nil {
		return r.tellUnreadable(ctx, policy, err, now)
	}
	o.again = again
	p := newPlan(*o)
	done := r.apply(ctx, o, p)
	done.note(undecided)
	if done.removed {
		r.announceAbandoned(ctx, *o)
		r.forget(request.NamespacedName)
		r.expectations.RecordEnd(request.NamespacedName, policy.GetUID(), r.Clock.Now())
		// An answer of success may come from something else than an API server. Then no event follows.
		return reconcile.Result{RequeueAfter: expectations.Lifetime + catchUp}, nil
	}

	reported := newReport(r.Kind, *o, p, done)
	later, err := r.publish(ctx, o.policy, reported, now)
	switch {
	case err == nil:
		r.abandoned.Forget(request.NamespacedName, o.abandoned)
	case apierrors.IsConflict(err):
		done.outdated, err = true, nil
	}
	if err := errors.Join(done.err, err); err != nil {
		return secretaccess.Retry(err)
	}
	if done.outdated {
		return reconcile.Result{RequeueAfter: catchUp}, nil
	}
	return reconcile.Result{RequeueAfter: done.requeueAfter(times.Sooner(reported.again, later))}, nil
}

// isCacheBehind is whether the cache does not show this process's own writes yet; then nothing may be concluded.
func (r *Reconciler[P, T]) isCacheBehind(ctx context.Context, policy P, now time.Time) bool {
	key := client.ObjectKeyFromObject(policy)
	return r.expectations.HasEnded(key, policy.GetUID(), now) || r.expectations.Unmet(key, func(name string) (client.Object, bool) {
		return r.target(ctx, types.NamespacedName{Namespace: key.Namespace, Name: name})
	}, now)
}

func (r *Reconciler[P, T]) forget(policy types.NamespacedName) {
	r.written.Forget(policy)
	r.views.forget(policy)
	r.expectations.Forget(policy)
	r.unwritten.Forget(policy)
	r.contents.Forget(policy)
	r.abandoned.ForgetAll(policy)
	r.forgetTrial(policy)
	r.published.Forget(policy)
	r.Kind.Forget(policy)
}
