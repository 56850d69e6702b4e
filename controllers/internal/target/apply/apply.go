package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// concurrency is how many objects of one set are written at the same time: enough for most add-ons
// to go in one wave, and fewer than the streams that an API server allows one connection.
const concurrency = 16

// Stages are what a target adds to the application of its objects. Each is called at most once, in the order given
// here, and not at all where one before it failed or had to wait.
type Stages interface {
	// Begin comes before anything is written to the cluster.
	Begin(ctx context.Context) error
	// Before comes when namespaces and definitions are there. It returns whether the rest may follow.
	Before(ctx context.Context) (bool, error)
	// Unlisted returns what else is to be removed: objects that belong to the target though no inventory lists them.
	Unlisted(ctx context.Context) ([]Removal, error)
	// After comes when everything is applied, and before namespaces and definitions are removed. It returns whether they
	// may be.
	After(ctx context.Context) (bool, error)
	// Owns is whether an object carries the marks of the target, beside the label of the installation.
	Owns(object metav1.Object) bool
}

// NoStages are those of a target that is nothing but its objects.
type NoStages struct{}

// Begin implements Stages.
func (NoStages) Begin(context.Context) error { return nil }

// Before implements Stages.
func (NoStages) Before(context.Context) (bool, error) { return true, nil }

// Unlisted implements Stages.
func (NoStages) Unlisted(context.Context) ([]Removal, error) { return nil, nil }

// After implements Stages.
func (NoStages) After(context.Context) (bool, error) { return true, nil }

// Owns implements Stages.
func (NoStages) Owns(metav1.Object) bool { return false }

// Journal is where a target keeps what is about to be done.
type Journal interface {
	// Intend stores the inventory, which lists objects that are about to be applied. If the manager dies in between, the
	// next one knows where to look; if people change their mind, it knows that the cluster is not what it was before.
	Intend(ctx context.Context, intended Inventory) error
}

// Applier carries out what is planned for a set of objects in one cluster.
type Applier struct {
	Cluster      *fleet.Cluster
	Rules        managedfields.Rules
	Installation string
	Stages       Stages
	Journal      Journal
	Clock        clock.PassiveClock
	Log          logr.Logger
	// Verify looks at the objects that are about to be written, before anything is recorded, written or removed. An error
	// stops the plan, a VerificationError until a person changes something. Nil lets everything pass.
	Verify func(ctx context.Context, objects []Object) error
	// WebhookPatience is how long the deletion of a custom resource is tried while an admission webhook does not answer.
	WebhookPatience time.Duration
	// Slice is how long further objects are begun with; DefaultSlice if it is zero.
	Slice time.Duration
}

// Result is what came of a plan.
type Result struct {
	// Inventory as it is afterwards.
	Inventory Inventory
	Written   []Written
	// refused before, and not tried again.
	refused []Written
	// Refusals are new.
	Refusals map[objects.Key]Refusal
	// Gone were removed, and are not there any more.
	Gone []Entry
	// Removing were asked to go, and are still there.
	Removing []Removed
	// deletions are how far these came, and what failed to be removed.
	deletions map[objects.Key]Deletion
	// Left stay in the cluster because something else needs them.
	Left []leftover
	// Awaiting are definitions that are not established yet.
	Awaiting []objects.Key
	// Postponed are objects that the slice did not come to. They are next, when others had their turn.
	Postponed []objects.Key
	// WakeAt is a deadline that was met on the way; zero if there is none.
	WakeAt time.Time
	Err    error
}

// Advanced is whether something was done of which the next slice need not do it again.
func (r Result) Advanced() bool {
	return len(r.Gone) > 0 || slices.ContainsFunc(r.Written, func(w Written) bool { return w.Result != nil })
}

// wake asks for another look at a time, the earliest of several.
func (r *Result) wake(at time.Time) { r.WakeAt = times.Earliest(r.WakeAt, at) }

// Failed returns the writes that did not succeed.
func (r Result) Failed() []Written {
	var failed []Written
	for _, w := range r.Written {
		if w.Result == nil {
			failed = append(failed, w)
		}
	}
	return append(failed, r.refused...)
}

// Apply carries a plan out.
func (a *Applier) Apply(ctx context.Context, o Observation, p Plan) Result {
	done := Result{Inventory: maps.Clone(o.Inventory)}
	if done.Err = a.verify(ctx, p); done.Err != nil {
		return done
	}
	if done.Err = a.Stages.Begin(ctx); done.Err != nil {
		return done
	}
	if done.Err = a.intend(ctx, &done, p); done.Err != nil {
		return done
	}
	slice := a.newSlice(o)
	a.writeAndRemove(ctx, o, p, slice, &done)
	done.Postponed = slice.left
	done.wakeForReplaced(o.Now)
	done.Refusals = o.refusals(p, done.Written)
	done.Inventory.Take(done)
	return done
}

// writeAndRemove goes through the stages of a plan, as far as it gets without waiting, and in its slice.
func (a *Applier) writeAndRemove(ctx context.Context, o Observation, p Plan, s *slice, done *Result) {
	done.refused = p.Refused
	if !a.write(ctx, p.Prerequisites, s, done) {
		return
	}
	// An object that was refused before holds up none but those that need it.
	if slices.ContainsFunc(done.Failed(), func(w Written) bool { return w.Stage == prerequisites }) {
		return
	}
	if done.Awaiting = notEstablished(a.Cluster.Tracker, p.Awaited, done.Written); len(done.Awaiting) > 0 {
		return
	}
	var proceeds bool
	if proceeds, done.Err = a.Stages.Before(ctx); !proceeds || done.Err != nil {
		return
	}
	if !a.write(ctx, p.Rest, s, done) {
		return
	}
	excuseLateKinds(o.Desired, done.Written)
	if len(done.Failed()) == 0 && len(p.Conflicts) == 0 {
		a.remove(ctx, o, p.Removals, s, done)
	}
}

// write carries out the writes of one stage, once it is certain that the cluster is the right one. It returns whether the
// slice came to all of them.
func (a *Applier) write(ctx context.Context, writes []Write, s *slice, done *Result) bool {
	w := &Writer{
		Cluster: a.Cluster, Tracker: a.Cluster.Tracker, Rules: a.Rules,
		Installation: a.Installation, Owns: a.Stages.Owns, Now: a.Clock.Now,
	}
	a.watch(ctx, writes)
	if done.Err = w.Confirm(ctx, writes); done.Err != nil {
		return false
	}
	done.Written = append(done.Written, each(ctx, s, writes, w.Do)...)
	return len(s.left) == 0
}

// Intend stores what is about to be done before it is: new objects are in the inventory before they are in the cluster.
func (a *Applier) intend(ctx context.Context, done *Result, p Plan) error {
	intended := maps.Clone(done.Inventory)
	for _, w := range slices.Concat(p.Prerequisites, p.Rest) {
		if _, listed := intended[w.Key()]; !listed {
			intended[w.Key()] = Entry{Ref: w.Ref, Kept: w.kept, External: w.external}
		}
	}
	if !p.Begins && len(intended) == len(done.Inventory) {
		return nil
	}
	if err := a.Journal.Intend(ctx, intended); err != nil {
		return fmt.Errorf("record what is about to be applied: %w", err)
	}
	done.Inventory = intended
	return nil
}

// watch starts the watches for what is about to be applied, so that they see it. A kind that is not
// served yet is met again by the write.
func (a *Applier) watch(ctx context.Context, writes []Write) {
	for _, w := range writes {
		if err := a.Cluster.Watch(ctx, w.GroupVersionKind); err != nil && !meta.IsNoMatchError(err) {
			a.Log.V(1).Info("watch not started", "kind", w.Kind, "reason", err.Error())
		}
	}
}

// notEstablished are the definitions that have to be waited for. One that was there before, and only
// had to be, is not watched.
func notEstablished(tracker *tracker.Tracker, definitions []objects.Key, done []Written) []objects.Key {
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
