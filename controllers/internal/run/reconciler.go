package run

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/clusterwatch"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/postponed"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
	"github.com/daytwo-dev/daytwo/controllers/internal/statuses"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// Reconciler works on the runs of one kind.
type Reconciler[R metav1alpha1.Run, S any] struct {
	// Client reads from the manager's cache and writes to the management cluster.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	// Fleet of connected workload clusters.
	Fleet *fleet.Fleet
	// Recorder tells people how runs end.
	Recorder events.EventRecorder
	// Orphans is where what a run leaves is recorded.
	Orphans orphans.Records
	Clock   clock.PassiveClock
	Log     logr.Logger
	// Kind of the runs.
	Kind Kind[R, S]

	clusters clusterwatch.Watch[R]
	written  statuses.Memory[R]
	updates  postponed.Memory[R]
	tasks    *background.Tasks[func(*S)]
}

// atOnce is for a run that is a step further: nothing else would bring it up again.
const atOnce = time.Millisecond

// Reconcile takes a run one step further: it observes, plans, applies and reports.
func (r *Reconciler[R, S]) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	run := r.Kind.New()
	if err := r.Client.Get(ctx, request.NamespacedName, run); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.written.Forget(request.NamespacedName)
			r.updates.Forget(request.NamespacedName)
			r.tasks.Forget(request.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	run = r.written.Of(request.NamespacedName).Of(run)
	o, err := r.observe(ctx, run, r.Clock.Now())
	if err != nil {
		return secretaccess.Retry(err)
	}
	p := newPlan(r.Kind, o)
	next := clone(run)
	status := next.GetRunStatus()
	done := r.apply(ctx, o, p, next)
	switch {
	case p.claim || p.release: // The version of the object is another one now.
		return resultOf(p, done, o.Now), done.err
	case status.StartedAt == nil && done.awaits == "":
		return reconcile.Result{}, done.err
	}
	report(status, run.GetGeneration(), o.Now, done)
	later, err := r.publish(ctx, o, next, done.err != nil)
	if err != nil {
		return reconcile.Result{}, err
	}
	if done.err != nil {
		return secretaccess.Retry(done.err)
	}
	again := resultOf(p, done, o.Now)
	again.RequeueAfter = times.Sooner(again.RequeueAfter, later)
	return again, nil
}

// resultOf says when a run is brought up again. One that failed has its backoff.
func resultOf[R metav1alpha1.Run](p plan[R], done result, now time.Time) reconcile.Result {
	switch {
	case done.err != nil || !done.advanced && p.until.IsZero():
		return reconcile.Result{}
	case done.advanced:
		return reconcile.Result{RequeueAfter: atOnce}
	}
	return reconcile.Result{RequeueAfter: max(p.until.Sub(now), time.Second)}
}

// Events: reasons and actions.
const (
	eventEnded = "Ended"
	actionRun  = "Run"
)

// tell tells people once how a run ended.
func (r *Reconciler[R, S]) tell(before R, after *metav1alpha1.RunStatus) {
	if before.GetRunStatus().Outcome != "" || after.Outcome == "" {
		return
	}
	kind := corev1.EventTypeNormal
	if after.Outcome == metav1alpha1.RunFailed {
		kind = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(before, nil, kind, eventEnded, actionRun, "%s: %s", after.Outcome, after.Message)
	r.Log.Info("run ended", "object", client.ObjectKeyFromObject(before).String(), "outcome", after.Outcome)
}

// ownerOf stands for a run in the watches of a cluster.
func (r *Reconciler[R, S]) ownerOf(run R) tracker.Owner {
	return tracker.Owner{Kind: r.Kind.Name(), NamespacedName: client.ObjectKeyFromObject(run)}
}

// clone makes a deep copy.
func clone[R metav1alpha1.Run](run R) R { return run.DeepCopyObject().(R) }
