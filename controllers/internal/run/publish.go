package run

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/graceful"
	"github.com/daytwo-dev/daytwo/controllers/internal/statuses"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

// publish writes the status of next, a copy of the run, if it changed, and tells how the run ended. A status that tells nothing but
// what is awaited may be put off: then it returns after how long it is due.
func (r *Reconciler[R, S]) publish(ctx context.Context, o observation[R, S], next R, failed bool) (later time.Duration, err error) {
	updates := r.updates.Of(client.ObjectKeyFromObject(o.Run))
	updates.Begin()
	if equality.Semantic.DeepEqual(*r.Kind.Status(o.Run), *r.Kind.Status(next)) {
		return 0, nil
	}
	change := changeOf(r.Kind, o.Run, next)
	if !failed && !graceful.IsEnding(ctx) {
		if later := updates.PutOff(next, change, o.Now); later > 0 {
			return later, nil
		}
	}
	if err := r.writeStatus(ctx, o.Run, next); err != nil {
		return 0, err
	}
	updates.Wrote(change, throttle.Pause{}, o.Now)
	r.tell(o.Run, next.GetRunStatus())
	return 0, nil
}

// changeOf is what changes in a run's status. What is awaited is told by conditions alone. The cluster in which a run works says it,
// and its owner may have it say something else as often as they like.
func changeOf[R metav1alpha1.Run, S any](kind Kind[R, S], before, after R) throttle.Change {
	rest, told := clone(before), after.GetRunStatus().Conditions
	rest.GetRunStatus().Conditions = told
	return throttle.Change{
		Subject: fmt.Sprint(before.GetUID(), before.GetGeneration()),
		Follows: equality.Semantic.DeepEqual(*kind.Status(rest), *kind.Status(after)),
		Before:  before.GetRunStatus().Conditions, After: told,
	}
}

func (r *Reconciler[R, S]) writeStatus(ctx context.Context, run, next R) error {
	latest := r.written.Of(client.ObjectKeyFromObject(run))
	return statuses.NewWriter[R, S](r.Client, r.APIReader, r.Kind, latest, run).Write(ctx, *r.Kind.Status(next))
}

// WriteUnsaved writes the statuses that were put off. No reconcile may be under way, and none may follow.
func (r *Reconciler[R, S]) WriteUnsaved(ctx context.Context) error {
	return r.updates.WriteUnsaved(ctx, r.writeUnsaved)
}

func (r *Reconciler[R, S]) writeUnsaved(ctx context.Context, key types.NamespacedName, next R) error {
	run := r.Kind.New()
	if err := r.Client.Get(ctx, key, run); err != nil {
		return client.IgnoreNotFound(err)
	}
	run = r.written.Of(key).Of(run)
	if run.GetResourceVersion() != next.GetResourceVersion() {
		return nil // Somebody changed the run, which the next manager reports on.
	}
	return r.writeStatus(ctx, run, next)
}
