package addonrelease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// concurrency is how many objects of one release are written at the same time: enough for most add-ons
// to go in one wave, and fewer than the streams that an API server allows one connection.
const concurrency = 16

// outcome is what came of a plan.
type outcome struct {
	written []written
	// refused before, and not tried again.
	refused []written
	// refusals are new.
	refusals map[objects.Key]refusal
	// gone were removed, and are not there any more.
	gone []entry
	// removing were asked to go, and are still there.
	removing []removed
	// deletions are how far these came, and what failed to be removed.
	deletions map[objects.Key]deletion
	// left stay in the cluster because something else needs them.
	left []leftover
	// awaiting are definitions that are not established yet.
	awaiting []objects.Key
	// hook is the hook that the rest waits for, or that failed; nil if there is none.
	hook *hookReport
	// wakeAt is a deadline that was met on the way; zero if there is none.
	wakeAt time.Time
	// takenBack is the record of the Helm release, if somebody had changed it or taken its place.
	takenBack []written
	// tolerated is what stays of what others set.
	tolerated []addonsv1alpha1.ToleratedManager
	// purged: the records of the Helm release are gone.
	purged bool
	// recheck: what was removed must be looked for again, since no watch will tell.
	recheck bool
	err     error
}

// hookReport is a hook that everything else waits for.
type hookReport struct {
	hook
	run addonsv1alpha1.HookRun
}

// wake asks for another look at a time, the earliest of several.
func (o *outcome) wake(at time.Time) {
	if o.wakeAt.IsZero() || !at.IsZero() && at.Before(o.wakeAt) {
		o.wakeAt = at
	}
}

// failed returns the writes that did not succeed.
func (o outcome) failed() []written {
	var failed []written
	for _, w := range o.written {
		if w.result == nil {
			failed = append(failed, w)
		}
	}
	return append(failed, o.refused...)
}

// apply carries a plan out.
func (r *Reconciler) apply(ctx context.Context, o *observed, p plan, cluster *fleet.Cluster) outcome {
	var done outcome
	if cluster == nil {
		return done
	}
	steps := r.helmSteps(ctx, o, p, cluster, &done)
	if err := errors.Join(done.err, steps.endInterrupted(ctx), r.keepRendering(ctx, o), r.intend(ctx, o, p)); err != nil {
		return outcome{err: err}
	}
	w := &writer{
		cluster: cluster, tracker: cluster.Tracker, rules: r.Rules,
		installation: r.Installation, release: o.helmRelease(), now: r.Clock.Now,
	}
	r.watch(ctx, cluster, p.foundations)
	done.refused = p.refused
	if done.err = w.confirm(ctx, p.foundations); done.err != nil {
		return done
	}
	done.written = w.all(ctx, p.foundations)
	// An object that was refused before holds up none but those that need it.
	if slices.ContainsFunc(done.failed(), func(w written) bool { return w.stage == foundations }) {
		return done
	}
	if done.awaiting = notEstablished(cluster.Tracker, p.awaited, done.written); len(done.awaiting) > 0 {
		return done
	}
	if !steps.before(ctx) {
		return done
	}
	r.watch(ctx, cluster, p.rest)
	if done.err = w.confirm(ctx, p.rest); done.err != nil {
		return done
	}
	done.written = append(done.written, w.all(ctx, p.rest)...)
	excuseLateKinds(o.desired, done.written)
	if len(done.failed()) > 0 || len(p.conflicts) > 0 {
		return done
	}
	r.remove(ctx, *o, p.removals, cluster, &done, steps)
	return done
}

// intend writes what is about to be done before it is: new objects into the inventory, and what they are
// rendered from. If the manager dies in between, the next one knows where to look; if people change their
// mind, it knows that the cluster is not what it was before.
func (r *Reconciler) intend(ctx context.Context, o *observed, p plan) error {
	begins := p.begins(*o)
	intended := begins
	for _, list := range [][]write{p.foundations, p.rest} {
		for _, w := range list {
			if _, listed := o.inventory[w.Key()]; !listed {
				o.inventory[w.Key()] = entry{Ref: w.Ref, kept: w.kept, external: w.external}
				intended = true
			}
		}
	}
	if !intended {
		return nil
	}
	o.release.Status.Inventory = o.inventory.stored()
	o.release.Status.ClusterID = string(o.clusterID)
	if begins {
		o.release.Status.Applying = o.inputs
	}
	if p.helm.operation != nil {
		o.helmStatus().Operation = p.helm.operation.DeepCopy()
	}
	if err := r.record(ctx, o); err != nil {
		return fmt.Errorf("record what is about to be applied: %w", err)
	}
	return nil
}

// watch starts the watches for what is about to be applied, so that they see it. A kind that is not
// served yet is met again by the write.
func (r *Reconciler) watch(ctx context.Context, cluster *fleet.Cluster, writes []write) {
	for _, w := range writes {
		if err := cluster.Watch(ctx, w.GroupVersionKind); err != nil && !meta.IsNoMatchError(err) {
			r.Log.V(1).Info("watch not started", "kind", w.Kind, "reason", err.Error())
		}
	}
}

// all carries writes out, some at a time. One that fails does not stop the others.
func (w *writer) all(ctx context.Context, writes []write) []written { return each(ctx, writes, w.do) }

// each does all of todo, at most concurrency of them at a time, and returns the results in the order of todo.
func each[T, R any](ctx context.Context, todo []T, do func(context.Context, T) R) []R {
	results := make([]R, len(todo))
	var group errgroup.Group
	group.SetLimit(concurrency)
	for i := range todo {
		group.Go(func() error {
			results[i] = do(ctx, todo[i])
			return nil
		})
	}
	_ = group.Wait() // Each result has its own error.
	return results
}

// notEstablished are the definitions that have to be waited for. One that was there before, and only
// had to be, is not watched.
func notEstablished(tracker *fleet.Tracker, definitions []objects.Key, done []written) []objects.Key {
	there := map[objects.Key]bool{}
	for _, w := range done {
		there[w.Key()] = w.unwatched
	}
	var waiting []objects.Key
	for _, key := range definitions {
		if there[key] {
			continue
		}
		if seen, _ := tracker.Look(key); seen == nil || seen.Health.Status != status.CurrentStatus {
			waiting = append(waiting, key)
		}
	}
	return waiting
}
