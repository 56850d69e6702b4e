package addonrelease

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// concurrency is how many objects of one set are written at the same time: enough for most add-ons
// to go in one wave, and fewer than the streams that an API server allows one connection.
const concurrency = 16

// stages are what a target adds to the application of its objects. Each is called at most once, in the order given
// here, and not at all where one before it failed or had to wait.
type stages interface {
	// begin comes before anything is written to the cluster.
	begin(ctx context.Context) error
	// before comes when namespaces and definitions are there. It returns whether the rest may follow.
	before(ctx context.Context) (bool, error)
	// strays returns what else is to be removed: objects that belong to the target though no inventory lists them.
	strays(ctx context.Context) ([]removal, error)
	// after comes when everything is applied, and before namespaces and definitions are removed. It returns whether they
	// may be.
	after(ctx context.Context) (bool, error)
	// owns is whether an object carries the marks of the target, beside the label of the installation.
	owns(object metav1.Object) bool
}

// noStages are those of a target that is nothing but its objects.
type noStages struct{}

func (noStages) begin(context.Context) error               { return nil }
func (noStages) before(context.Context) (bool, error)      { return true, nil }
func (noStages) strays(context.Context) ([]removal, error) { return nil, nil }
func (noStages) after(context.Context) (bool, error)       { return true, nil }
func (noStages) owns(metav1.Object) bool                   { return false }

// journal is where a target keeps what is about to be done.
type journal interface {
	// intend stores the inventory, which lists objects that are about to be applied. If the manager dies in between, the
	// next one knows where to look; if people change their mind, it knows that the cluster is not what it was before.
	intend(ctx context.Context, intended inventory) error
}

// applier carries out what is planned for a set of objects in one cluster.
type applier struct {
	cluster      *fleet.Cluster
	rules        managedfields.Rules
	installation string
	stages       stages
	journal      journal
	clock        clock.PassiveClock
	log          logr.Logger
	// webhookPatience is how long the deletion of a custom resource is tried while an admission webhook does not answer.
	webhookPatience time.Duration
}

// objectsResult is what came of a plan.
type objectsResult struct {
	// inventory as it is afterwards.
	inventory inventory
	written   []written
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
	// wakeAt is a deadline that was met on the way; zero if there is none.
	wakeAt time.Time
	err    error
}

// wake asks for another look at a time, the earliest of several.
func (r *objectsResult) wake(at time.Time) {
	if r.wakeAt.IsZero() || !at.IsZero() && at.Before(r.wakeAt) {
		r.wakeAt = at
	}
}

// failed returns the writes that did not succeed.
func (r objectsResult) failed() []written {
	var failed []written
	for _, w := range r.written {
		if w.result == nil {
			failed = append(failed, w)
		}
	}
	return append(failed, r.refused...)
}

// apply carries a plan out.
func (a *applier) apply(ctx context.Context, o objectsObservation, p objectsPlan) objectsResult {
	done := objectsResult{inventory: maps.Clone(o.inventory)}
	if done.err = a.stages.begin(ctx); done.err != nil {
		return done
	}
	if done.err = a.intend(ctx, &done, p); done.err != nil {
		return done
	}
	a.writeAndRemove(ctx, o, p, &done)
	done.refusals = o.refusals(p, done.written)
	done.inventory.take(done)
	return done
}

// writeAndRemove goes through the stages of a plan, as far as it gets without waiting.
func (a *applier) writeAndRemove(ctx context.Context, o objectsObservation, p objectsPlan, done *objectsResult) {
	done.refused = p.refused
	if !a.write(ctx, p.foundations, done) {
		return
	}
	// An object that was refused before holds up none but those that need it.
	if slices.ContainsFunc(done.failed(), func(w written) bool { return w.stage == foundations }) {
		return
	}
	if done.awaiting = notEstablished(a.cluster.Tracker, p.awaited, done.written); len(done.awaiting) > 0 {
		return
	}
	var proceeds bool
	if proceeds, done.err = a.stages.before(ctx); !proceeds || done.err != nil {
		return
	}
	if !a.write(ctx, p.rest, done) {
		return
	}
	excuseLateKinds(o.desired, done.written)
	if len(done.failed()) == 0 && len(p.conflicts) == 0 {
		a.remove(ctx, o, p.removals, done)
	}
}

// write carries out the writes of one stage, once it is certain that the cluster is the right one.
func (a *applier) write(ctx context.Context, writes []write, done *objectsResult) bool {
	w := &writer{
		cluster: a.cluster, tracker: a.cluster.Tracker, rules: a.rules,
		installation: a.installation, owns: a.stages.owns, now: a.clock.Now,
	}
	a.watch(ctx, writes)
	if done.err = w.confirm(ctx, writes); done.err != nil {
		return false
	}
	done.written = append(done.written, w.all(ctx, writes)...)
	return true
}

// intend stores what is about to be done before it is: new objects are in the inventory before they are in the cluster.
func (a *applier) intend(ctx context.Context, done *objectsResult, p objectsPlan) error {
	intended := maps.Clone(done.inventory)
	for _, w := range slices.Concat(p.foundations, p.rest) {
		if _, listed := intended[w.Key()]; !listed {
			intended[w.Key()] = entry{Ref: w.Ref, kept: w.kept, external: w.external}
		}
	}
	if !p.begins && len(intended) == len(done.inventory) {
		return nil
	}
	if err := a.journal.intend(ctx, intended); err != nil {
		return fmt.Errorf("record what is about to be applied: %w", err)
	}
	done.inventory = intended
	return nil
}

// watch starts the watches for what is about to be applied, so that they see it. A kind that is not
// served yet is met again by the write.
func (a *applier) watch(ctx context.Context, writes []write) {
	for _, w := range writes {
		if err := a.cluster.Watch(ctx, w.GroupVersionKind); err != nil && !meta.IsNoMatchError(err) {
			a.log.V(1).Info("watch not started", "kind", w.Kind, "reason", err.Error())
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
