package target

import (
	"context"
	"slices"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// StagedKind belongs to a DeclaredKind whose targets have more in their cluster than the objects that they declare, and do more
// there than to apply these. X is what it finds out for that in one reconcile.
type StagedKind[T metav1alpha1.Target, S, X any] interface {
	// Beside is what a target has in its cluster beside its objects, by its status.
	Beside(status *S) Beside
	// Forget takes that out of a status: it is in another cluster.
	Forget(status *S)
	// ObserveHere looks at what the management cluster tells, whether or not there is a cluster to work with.
	ObserveHere(ctx context.Context, o *DeclaredObservation[T, S, X]) error
	// Observe looks at what is in the cluster, before it is known what is to be there.
	Observe(ctx context.Context, o *DeclaredObservation[T, S, X], cluster *fleet.Cluster) error
	// NeedsDesired is whether more than objects is to be written, or may be. It is asked of targets that are not deleted: one
	// that is needs the desired objects as long as it has something beside its own.
	NeedsDesired(o *DeclaredObservation[T, S, X]) bool
	// EndUndeclared finds out how a deleted target can end of which the problem keeps the desired objects from being known.
	// It returns the problem that remains.
	EndUndeclared(ctx context.Context, o *DeclaredObservation[T, S, X], cluster *fleet.Cluster) error
	// Size is how much the status may have to tell beside the objects, in bytes of JSON.
	Size(o *DeclaredObservation[T, S, X]) int
	// Plan decides what to do beside the objects. It is pure.
	Plan(o *DeclaredObservation[T, S, X]) StagedPlan
	// Stages carry that out. They record it in the journal before.
	Stages(o *DeclaredObservation[T, S, X], p StagedPlan, cluster *fleet.Cluster, journal *Journal[T, S]) apply.Stages
	// Outcome is what came of the stages, or of none where nothing was done. It is pure.
	Outcome(o *DeclaredObservation[T, S, X]) Outcome[S]
}

// Beside is what a target has in its cluster beside its objects.
type Beside struct {
	// Claims are what it holds there: no other target may, and its watches wake it. An expectation without a UID expects
	// nothing.
	Claims map[objects.Key]tracker.Expectation
	// Left is what is recorded when the target ends without removing it.
	Left []tenancyv1alpha1.OrphanObject
}

// StagedPlan is what to do beside the objects. The zero plan is to do nothing.
type StagedPlan struct {
	// Due: something may have to be done.
	Due bool
	// Begins: there is something to do, even if there is nothing to do to the objects.
	Begins bool
	// Claims are what the target is about to hold.
	Claims []objects.Key
	// WakeAt is when more is due; zero for never.
	WakeAt time.Time
}

// Outcome is what came of what was done beside the objects.
type Outcome[S any] struct {
	// Tell writes it into a status; nil for nothing to tell.
	Tell func(status *S)
	// Conclude writes into a status what follows from all that is told in it; nil for nothing.
	Conclude func(status *S)
	// Unfinished: more is to be done, as far as is known.
	Unfinished bool
	// Remains: a deleted target has something in its cluster beside its objects.
	Remains bool
	// Urgent: the status does not wait for what the watches are about to show.
	Urgent bool
	// Reverted are the writes that took something back.
	Reverted []apply.Written
	// LeftChanged says what others changed, and is left as it is; empty for nothing.
	LeftChanged string
	// Trouble is why the revision is not applied; nil if nothing is in the way.
	Trouble *Verdict
	// Unhealthy is what does not work of what is applied; nil if all does. Where it is Stalled, it does not mend itself.
	Unhealthy *Verdict
	// Summary says in a few words that all is well; empty for how many objects there are.
	Summary string
	// Due is when the target must be looked at again, and DueBy the same by all that is told in a status; nil for never.
	Due   []time.Time
	DueBy func(status *S) time.Time
	// Warning is an event for people; nil for none.
	Warning *Warning
}

// Warning is an event that tells people of what they would otherwise miss.
type Warning struct{ Reason, Action, Message string }

// staged is what the kind adds to its objects, which may be nothing.
func (d *Declared[T, S, X]) staged() StagedKind[T, S, X] {
	if d.Staged == nil {
		return NotStaged[T, S, X]{}
	}
	return d.Staged
}

// leftovers are what is in the cluster because of a target, by its status and the inventory.
func (d *Declared[T, S, X]) leftovers(status *S, inventory apply.Inventory) Leftovers {
	return Leftovers{ClusterID: d.Parts(status).ClusterID, Inventory: inventory, More: d.staged().Beside(status).Left}
}

// keep tells a tracker what a target holds beside its objects.
func (b Beside) keep(tracker *tracker.Tracker, owner tracker.Owner) {
	for key, expected := range b.Claims {
		tracker.Keep(owner, key, expected)
	}
}

func (b Beside) holds(key objects.Key) bool {
	_, held := b.Claims[key]
	return held
}

// NotStaged is what a kind adds whose targets are nothing but their objects. A StagedKind embeds it for what it does not add.
type NotStaged[T metav1alpha1.Target, S, X any] struct{}

// Beside implements StagedKind.
func (NotStaged[T, S, X]) Beside(*S) Beside { return Beside{} }

// Forget implements StagedKind.
func (NotStaged[T, S, X]) Forget(*S) {}

// ObserveHere implements StagedKind.
func (NotStaged[T, S, X]) ObserveHere(context.Context, *DeclaredObservation[T, S, X]) error {
	return nil
}

// Observe implements StagedKind.
func (NotStaged[T, S, X]) Observe(context.Context, *DeclaredObservation[T, S, X], *fleet.Cluster) error {
	return nil
}

// NeedsDesired implements StagedKind.
func (NotStaged[T, S, X]) NeedsDesired(*DeclaredObservation[T, S, X]) bool { return false }

// EndUndeclared implements StagedKind.
func (NotStaged[T, S, X]) EndUndeclared(_ context.Context, o *DeclaredObservation[T, S, X], _ *fleet.Cluster) error {
	return o.Problem
}

// Size implements StagedKind.
func (NotStaged[T, S, X]) Size(*DeclaredObservation[T, S, X]) int { return 0 }

// Plan implements StagedKind.
func (NotStaged[T, S, X]) Plan(*DeclaredObservation[T, S, X]) StagedPlan { return StagedPlan{} }

// Stages implements StagedKind.
func (NotStaged[T, S, X]) Stages(*DeclaredObservation[T, S, X], StagedPlan, *fleet.Cluster, *Journal[T, S]) apply.Stages {
	return apply.NoStages{}
}

// Outcome implements StagedKind.
func (NotStaged[T, S, X]) Outcome(*DeclaredObservation[T, S, X]) Outcome[S] { return Outcome[S]{} }

// corrections are the writes that took something back.
func (c Carried[S]) corrections() []apply.Written {
	return apply.Corrections(slices.Concat(c.Written, c.Outcome.Reverted))
}
