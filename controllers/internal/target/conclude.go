package target

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/statuses"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/tombstones"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// Conclusion is what follows from what became of a target.
type Conclusion[S any] struct {
	Findings Findings
	// Status that tells of it; Told is the room's part of that.
	Status *S
	Told   Status
	// Incomplete: all that is missing is what the watches are about to show. One status then does for both.
	Incomplete bool
	// Ends: nothing is left to do in the cluster, or nothing will be done; Left is what stays.
	Ends bool
	Left Leftovers
	// Keeps is whether the kind claims an object in the cluster beside the target's objects; nil for none.
	Keeps func(objects.Key) bool
	// Mirrors is whether the status tells no more than the stored one of what was done and asked for; nil if it does.
	Mirrors func(stored *S) bool
	// Follows is whether it tells no more than that and a step of what goes on in the cluster; nil if it does.
	Follows func(stored *S) bool
	// Due is when the target must be looked at again though nothing happens; zero for never.
	Due time.Time
}

// Conclude tells what became of a target, writes its status or puts that off, and ends it where nothing is left to do. It asks for another
// try where one may help, or at the time that was computed.
func (r *Reconciler[T, S, M]) Conclude(
	ctx context.Context, target T, known *Known[T, S, M], writer *statuses.Writer[T, S], cluster *fleet.Cluster, c Conclusion[S],
) (reconcile.Result, error) {
	o := c.Findings.Observation
	r.Tell(target, c.Told.TargetStatus, c.Findings, known)
	if c.Incomplete {
		known.Postpone(target, *c.Status)
		return reconcile.Result{RequeueAfter: apply.SightOfWrites}, nil
	}
	later, err := r.save(ctx, target, known, writer, c)
	if err != nil {
		known.NotSaved(o, c.Findings.Corrections)
		return reconcile.Result{}, err
	}
	if cluster != nil {
		r.Retain(cluster, target, o, c.Keeps)
		cluster.Tracker.SetRemoved(r.Owner(target), tombstones.UIDs(c.Told.Removed))
	}
	if c.Ends {
		return reconcile.Result{}, r.End(ctx, writer.Stored(), o, c.Left)
	}
	failure := c.Findings.Failure()
	if done := c.Findings.Result; len(done.Postponed) > 0 && done.Err == nil && (failure == nil || done.Advanced()) {
		return nextSlice(), nil
	}
	if failure != nil {
		return reconcile.Result{}, fmt.Errorf("%s in %s: %w", target.GetName(), ClusterKey(target), failure)
	}
	if due := times.Earliest(c.Due, later); !due.IsZero() {
		return reconcile.Result{RequeueAfter: max(due.Sub(o.Now), time.Millisecond)}, nil
	}
	return reconcile.Result{}, nil
}

// nextSlice has the target come again when others had their turn, drift or not. A target of which nothing succeeded backs
// off instead.
func nextSlice() reconcile.Result {
	return reconcile.Result{RequeueAfter: time.Millisecond, Priority: ptr.To(0)}
}
