package target

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/statuses"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/recordable"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// DeclaredKind is what is particular to a kind of target that keeps the objects that it declares. Objects that it is given
// belong to the cache. X is what it finds out in one reconcile beside the objects, struct{} for nothing.
type DeclaredKind[T metav1alpha1.Target, S, X any] interface {
	// Name of the kind, as in "CertificateDelivery".
	Name() string
	// New returns an empty target, NewList an empty list of targets.
	New() T
	NewList() client.ObjectList
	// Status is where a target keeps its status; CopyStatus writes a deep copy of a status over another one; Parts are
	// those of a status that the room writes.
	Status(target T) *S
	CopyStatus(to, from *S)
	Parts(status *S) Status
	// Drift is what is done about changes of others.
	Drift(target T) metav1alpha1.DriftPolicy
	// Declare returns what is to be in the cluster, as apply.Prepare does. A [Verdict] as the error says what only a person
	// can mend. It is called where something is to be written, or may be.
	Declare(ctx context.Context, o *DeclaredObservation[T, S, X], cluster *fleet.Cluster) ([]apply.Object, error)
}

// VerifyingKind is a DeclaredKind that looks at its objects before they are written.
type VerifyingKind[T metav1alpha1.Target] interface {
	// Verify is the Verify of an apply.Applier.
	Verify(ctx context.Context, target T, objects []apply.Object) error
}

// FollowingKind is a DeclaredKind whose targets tell each step of what goes on in their cluster.
type FollowingKind[S any] interface {
	// DropSteps takes that out of a status. Another look at the cluster finds it out anew: what is dropped may be lost with the manager.
	DropSteps(status *S)
}

// Declared is the [Kind] of targets that keep the objects that they declare: it does the four steps. What else they have
// and do, a [StagedKind] adds, which is named: a kind that lacked one of its methods would lose all of them unnoticed.
type Declared[T metav1alpha1.Target, S, X any] struct {
	DeclaredKind[T, S, X]
	// Staged is what the targets have and do beside their objects; nil for nothing.
	Staged StagedKind[T, S, X]
	// Room of the targets. Its Kind is set by SetupWithManager.
	Room *Reconciler[T, S, struct{}]
	// Rules that say which changes are drift.
	Rules managedfields.Rules
	// Installation is the value of the label daytwo.dev/managed-by.
	Installation string
	Clock        clock.PassiveClock
	// WebhookPatience of removals; that of package apply if it is zero.
	WebhookPatience time.Duration
}

// SetupWithManager starts the controller with the manager.
func (d *Declared[T, S, X]) SetupWithManager(mgr ctrl.Manager, options Options) error {
	d.Room.Kind = d
	return d.Room.SetupWithManager(mgr, options)
}

// Restore implements Kind.
func (d *Declared[T, S, X]) Restore(tracker *tracker.Tracker, target T) {
	owner, status := d.Room.Owner(target), d.Status(target)
	RestoreObjects(tracker, owner, d.Parts(status).ObjectsStatus, d.Rules, d.Drift(target))
	d.staged().Beside(status).keep(tracker, owner)
}

// DeclaredObservation is all that the plan and the report of one target are made from.
type DeclaredObservation[T metav1alpha1.Target, S, X any] struct {
	Observation
	// Target as it was read. It is never changed.
	Target T
	// Status is what is known of the target so far: what its status says, or what waits to be written there, without what
	// does not hold in the cluster as it is now.
	Status S
	// Elsewhere is what the target has in another cluster, in whose place the provider accepted this one.
	Elsewhere tenancyv1alpha1.OrphanRecordSpec
	// Problem is why the desired objects are not known although they are needed.
	Problem error
	// Unfinished: as far as is known, more is to be done beside the objects.
	Unfinished bool
	// Extra is what the kind finds out.
	Extra X

	// outranked are the objects of the target that targets demand which go before it.
	outranked []objects.Key
	// drift is what Observation.Drift points to.
	drift metav1alpha1.DriftPolicy
}

// Carried is what came of a plan.
type Carried[S any] struct {
	apply.Result
	Outcome Outcome[S]
	// Recorded is the status as it was recorded last, before the plan or in its course.
	Recorded S
}

// Work implements Kind: it observes, plans, applies and reports.
func (d *Declared[T, S, X]) Work(ctx context.Context, target T, known *Known[T, S, struct{}]) (reconcile.Result, error) {
	writer := d.Room.Writer(target)
	o, cluster, err := d.observe(ctx, target, known)
	if err != nil {
		return reconcile.Result{}, err
	}
	if cluster != nil && len(o.outranked) > 0 {
		return d.relinquish(ctx, o, cluster.Tracker, known, writer)
	}
	if o.IsWaiting() && !o.isObjectsAbandonable() {
		return reconcile.Result{RequeueAfter: o.UntilGivenUp()}, nil
	}
	p := d.NewPlan(o)
	if err := d.commit(ctx, o, p, cluster); err != nil {
		return reconcile.Result{}, err
	}
	done := d.apply(ctx, o, p, cluster, writer)
	known.unfinished = done.Outcome.Unfinished
	if err := d.Room.RecordKept(ctx, target, o.Observation, d.Parts(&o.Status).ClusterID, done.Result); err != nil {
		known.NotSaved(o.Observation, done.corrections())
		return reconcile.Result{}, err
	}
	o.Inventory = done.Inventory
	shown := o.Look(ctx, done.Result, cluster)
	shown.lookAtPods(ctx, o.Observation, d.Parts(&o.Status), &known.standstill, cluster)
	told := d.NewReport(o, p, done, shown, d.acknowledged(o.Observation, cluster))
	told.Due = times.Earliest(told.Due, d.lookAgain(o.Observation, told.Told, cluster))
	if warning := done.Outcome.Warning; warning != nil {
		d.Room.Recorder.Eventf(target, nil, corev1.EventTypeWarning, warning.Reason, warning.Action, "%s", warning.Message)
	}
	return d.Room.Conclude(ctx, target, known, writer, cluster, told)
}

// commit comes between the plan and its application: what the target is about to forget is recorded, and what is about to
// be applied becomes its own.
func (d *Declared[T, S, X]) commit(ctx context.Context, o *DeclaredObservation[T, S, X], p Plan, cluster *fleet.Cluster) error {
	if err := d.Room.Record(ctx, o.Target, o.Elsewhere); err != nil {
		return err
	}
	if cluster == nil || !o.DesiredKnown {
		return nil
	}
	owner := d.Room.Owner(o.Target)
	for _, key := range p.Staged.Claims {
		if err := apply.ClaimOne(cluster.Tracker, owner, key); err != nil {
			return err
		}
	}
	return o.Objects(d.Parts(&o.Status)).Claim(cluster.Tracker, owner)
}

// apply carries a plan out.
func (d *Declared[T, S, X]) apply(
	ctx context.Context, o *DeclaredObservation[T, S, X], p Plan, cluster *fleet.Cluster, writer *statuses.Writer[T, S],
) Carried[S] {
	if cluster == nil {
		return Carried[S]{Result: apply.Result{Inventory: o.Inventory}, Outcome: d.staged().Outcome(o), Recorded: o.Status}
	}
	journal := &Journal[T, S]{Writer: writer, Status: o.Status, Parts: d.Parts, ClusterID: string(o.ClusterID)}
	if p.Begins {
		journal.Begins = o.Inputs
	}
	applier := &apply.Applier{
		Cluster: cluster, Rules: d.Rules, Installation: d.Installation, Stages: d.staged().Stages(o, p.Staged, cluster, journal), Journal: journal,
		Clock: d.Clock, Log: d.Room.Log, WebhookPatience: d.WebhookPatience,
	}
	if verifying, ok := d.DeclaredKind.(VerifyingKind[T]); ok {
		applier.Verify = func(ctx context.Context, list []apply.Object) error { return verifying.Verify(ctx, o.Target, list) }
	}
	done := applier.Apply(ctx, o.Objects(d.Parts(&o.Status)), p.Plan)
	return Carried[S]{Result: done, Outcome: d.staged().Outcome(o), Recorded: journal.Status}
}

// sizeWithoutStatus is how many bytes of JSON the rest of a target takes.
func (d *Declared[T, S, X]) sizeWithoutStatus(target T) int {
	return recordable.SizeOf(target) - recordable.SizeOf(d.Status(target))
}
