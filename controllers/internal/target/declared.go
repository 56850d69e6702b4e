package target

import (
	"cmp"
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/statuses"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// DeclaredKind is what is particular to a kind of target that is nothing but the objects that it declares. Objects that
// it is given belong to the cache.
type DeclaredKind[T metav1alpha1.Target, S any] interface {
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
	// Declare returns what is to be in the cluster. A [Verdict] as the error says what only a person can mend. It is called
	// where something is to be written, or may be.
	Declare(ctx context.Context, target T, cluster *fleet.Cluster) ([]apply.Declaration, error)
}

// VerifyingKind is a DeclaredKind that looks at its objects before they are written.
type VerifyingKind[T metav1alpha1.Target] interface {
	// Verify is the Verify of an apply.Applier.
	Verify(ctx context.Context, target T, objects []apply.Object) error
}

// Declared is the [Kind] of targets that are nothing but the objects that they declare: it does the four steps.
type Declared[T metav1alpha1.Target, S any] struct {
	DeclaredKind[T, S]
	// Room of the targets. Its Kind is set by SetupWithManager.
	Room *Reconciler[T, S, struct{}]
	// Rules that say which changes are drift.
	Rules managedfields.Rules
	// Installation is the value of the label daytwo.dev/managed-by.
	Installation string
	Clock        clock.PassiveClock
}

// SetupWithManager starts the controller with the manager.
func (d *Declared[T, S]) SetupWithManager(mgr ctrl.Manager, options Options) error {
	d.Room.Kind = d
	return d.Room.SetupWithManager(mgr, options)
}

// Restore implements Kind.
func (d *Declared[T, S]) Restore(tracker *fleet.Tracker, target T) {
	RestoreObjects(tracker, d.Room.Owner(target), d.Parts(d.Status(target)).Inventory, d.Rules, d.Drift(target))
}

// declaredObservation is all that the plan and the report of one target are made from.
type declaredObservation[S any] struct {
	Observation
	// drift is what Observation.Drift points to.
	drift metav1alpha1.DriftPolicy
	// status as it is known, without what does not hold in the cluster as it is now.
	status S
	// replaced is what the target has in another cluster, in whose place the provider accepted this one.
	replaced tenancyv1alpha1.OrphanRecordSpec
	// problem is why the desired objects are not known although they are needed.
	problem error
}

// Work implements Kind: it observes, plans, applies and reports.
func (d *Declared[T, S]) Work(ctx context.Context, target T, known *Known[T, S, struct{}]) (reconcile.Result, error) {
	o, cluster, err := d.observe(ctx, target, known)
	if err != nil {
		return reconcile.Result{}, err
	}
	if o.IsWaiting() && !o.isObjectsAbandonable() {
		return reconcile.Result{RequeueAfter: o.UntilGivenUp()}, nil
	}
	planned := Plan{}
	if o.problem == nil || o.isDeleted() {
		planned = MakePlan(o.Observation, d.Parts(&o.status))
	}
	if err := d.commit(ctx, target, *o, cluster); err != nil {
		return reconcile.Result{}, err
	}
	writer := d.Room.Writer(target, known)
	done, recorded := d.apply(ctx, *o, planned, cluster, writer, target)
	if err := d.Room.RecordKept(ctx, target, o.Observation, d.Parts(&o.status).ClusterID, done); err != nil {
		return reconcile.Result{}, err
	}
	o.Inventory = done.Inventory
	findings := Findings{
		Observation: o.Observation, Plan: planned.Plan, Result: done, Shown: o.Look(ctx, done, cluster), Corrections: apply.Corrections(done.Written),
		Trouble: cmp.Or(JudgeProblem(o.problem), JudgeWrites(planned.Plan, done), JudgeWaits(done)),
	}
	findings.Acknowledged = d.acknowledged(o.Observation, cluster)
	next := d.report(target, recorded, findings)
	told := d.Parts(next)
	look := d.lookAgain(o.Observation, told, cluster)
	return d.Room.Conclude(ctx, target, known, writer, cluster, Conclusion[S]{
		Findings: findings, Status: next, Told: told, Incomplete: findings.AwaitsWatches(told), Due: findings.Due(told, look),
		Ends: planned.Finalize && done.Err == nil && (len(told.Inventory) == 0 || o.isObjectsAbandonable()),
		Left: Leftovers{ClusterID: told.ClusterID, Inventory: o.Inventory},
	})
}

// commit comes between the plan and its application: what the target is about to forget is recorded, and what is about to
// be applied becomes its own.
func (d *Declared[T, S]) commit(ctx context.Context, target T, o declaredObservation[S], cluster *fleet.Cluster) error {
	if err := d.Room.Record(ctx, target, o.replaced); err != nil {
		return err
	}
	if cluster == nil || !o.DesiredKnown {
		return nil
	}
	return o.Objects(d.Parts(&o.status)).Claim(cluster.Tracker, d.Room.Owner(target))
}

// apply carries a plan out. It returns the status as it was recorded last, before the plan or in its course.
func (d *Declared[T, S]) apply(
	ctx context.Context, o declaredObservation[S], p Plan, cluster *fleet.Cluster, writer *statuses.Writer[T, S], target T,
) (apply.Result, S) {
	if cluster == nil {
		return apply.Result{Inventory: o.Inventory}, o.status
	}
	journal := &Journal[T, S]{Writer: writer, Status: o.status, Parts: d.Parts, ClusterID: string(o.ClusterID)}
	if p.Begins {
		journal.Begins = o.Inputs
	}
	applier := &apply.Applier{
		Cluster: cluster, Rules: d.Rules, Installation: d.Installation, Stages: apply.NoStages{}, Journal: journal,
		Clock: d.Clock, Log: d.Room.Log,
	}
	if verifying, ok := d.DeclaredKind.(VerifyingKind[T]); ok {
		applier.Verify = func(ctx context.Context, list []apply.Object) error { return verifying.Verify(ctx, target, list) }
	}
	return applier.Apply(ctx, o.Objects(d.Parts(&o.status)), p.Plan), journal.Status
}

// report makes the next status. One that cannot be stored leaves the one before in place, and says so.
func (d *Declared[T, S]) report(target T, recorded S, findings Findings) *S {
	next := new(S)
	d.CopyStatus(next, &recorded)
	Report(d.Parts(next), findings)
	size := d.sizeWithoutStatus(target) + SizeOf(next)
	if o := findings.Observation; o.Unreachable == "" && size > MaxStored {
		d.CopyStatus(next, &recorded)
		d.Parts(next).StallAsTooLarge(o, d.Name(), size, "")
	}
	return next
}

// sizeWithoutStatus is how many bytes of JSON the rest of a target takes.
func (d *Declared[T, S]) sizeWithoutStatus(target T) int {
	return SizeOf(target) - SizeOf(d.Status(target))
}
