package target

import (
	"cmp"
	"context"
	"slices"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/recordable"
)

// observe reads everything once, after what the target has in its cluster is followed there. It returns the cluster to
// work with, nil if there is none. It passes over what goes wrong where nothing is done in the cluster any more, and looks no further
// where objects are to be relinquished first.
func (d *Declared[T, S, X]) observe(
	ctx context.Context, target T, known *Known[T, S, struct{}],
) (*DeclaredObservation[T, S, X], *fleet.Cluster, error) {
	o, err := d.observeTarget(target, known)
	var cluster *fleet.Cluster
	if err == nil {
		cluster, err = d.observeTenant(ctx, o)
	}
	if err == nil && cluster != nil {
		err = d.observeClaims(ctx, o, cluster)
	}
	if err == nil && cluster != nil && len(o.outranked) == 0 {
		err = d.observeCluster(ctx, o, cluster)
	}
	if err != nil && o.isObjectsAbandonable() {
		o.Unreachable, cluster, err = cmp.Or(o.Unreachable, err.Error()), nil, nil
	}
	return o, cluster, err
}

// observeTarget takes in the target, and what is remembered of it.
func (d *Declared[T, S, X]) observeTarget(target T, known *Known[T, S, struct{}]) (*DeclaredObservation[T, S, X], error) {
	o := &DeclaredObservation[T, S, X]{Target: target, drift: d.Drift(target), Unfinished: known.unfinished}
	from, restored := d.latestStatus(target, known)
	d.CopyStatus(&o.Status, from)
	status := d.Parts(&o.Status)
	var err error
	o.Observation, err = NewObservation(target, &o.drift, status, known.Objects, d.Rules, d.Clock.Now())
	o.Restored, o.untold, o.Inputs = restored && known.awaitedWatches(), known.untold.unlessIn(status.Drift), InputsHash(target, d.Installation)
	if o.isDeleted() {
		o.Inputs = cmp.Or(status.InputsHash, o.Inputs)
	}
	return o, err
}

// latestStatus is what waits to be written of a target, or else its status.
func (d *Declared[T, S, X]) latestStatus(target T, known *Known[T, S, struct{}]) (status *S, postponed bool) {
	if status, postponed = known.Postponed(target); postponed {
		return status, true
	}
	return d.Status(target), false
}

// observeTenant finds the cluster, or why there is none to work with.
func (d *Declared[T, S, X]) observeTenant(ctx context.Context, o *DeclaredObservation[T, S, X]) (*fleet.Cluster, error) {
	cluster, err := d.Room.Observe(ctx, &o.Preconditions)
	if err != nil {
		return nil, err
	}
	status := d.Parts(&o.Status)
	o.TakeRequest(status)
	if cluster != nil && status.ClusterID != "" && status.ClusterID != string(cluster.ID) {
		d.MoveFrom(o)
	}
	return cluster, o.orProblem(d.staged().ObserveHere(ctx, o))
}

// orProblem makes it the target's problem that the manager may not read a Secret. Any other error is returned.
func (o *DeclaredObservation[T, S, X]) orProblem(err error) error {
	if secretaccess.Of(err) == nil {
		return err
	}
	o.Problem = err
	return nil
}

// MoveFrom forgets what is in the cluster that the status speaks of, in whose place the provider accepted another one: it
// is not in this one. It is recorded before, so that it is swept if that cluster is ever registered again.
func (d *Declared[T, S, X]) MoveFrom(o *DeclaredObservation[T, S, X]) {
	status := d.Parts(&o.Status)
	o.Elsewhere = o.Replaced(d.leftovers(&o.Status, o.Inventory))
	o.Inventory = apply.Inventory{}
	status.InputsHash, status.Applying, status.Revision, status.Acknowledged, status.Removed = "", "", "", nil, nil
	d.staged().Forget(&o.Status)
}

// observeClaims makes sure that the tracker of the cluster knows whose objects are there, and finds those that others demand. What is held
// beside the objects, such as a hook that runs, is free when it ends.
func (d *Declared[T, S, X]) observeClaims(ctx context.Context, o *DeclaredObservation[T, S, X], cluster *fleet.Cluster) error {
	if err := d.Room.Restore(ctx, ClusterKey(o.Target), cluster); err != nil {
		return err
	}
	o.outranked = slices.DeleteFunc(cluster.Tracker.Outranked(d.Room.Owner(o.Target)), d.staged().Beside(&o.Status).holds)
	return nil
}

// observeCluster follows what is in the cluster, looks at it, and at what is to be there.
func (d *Declared[T, S, X]) observeCluster(ctx context.Context, o *DeclaredObservation[T, S, X], cluster *fleet.Cluster) error {
	status := d.Parts(&o.Status)
	owner := d.Room.Owner(o.Target)
	d.staged().Beside(&o.Status).keep(cluster.Tracker, owner)
	if err := o.observeReturned(ctx, cluster, status.Removed); err != nil {
		return err
	}
	unserved, err := o.Objects(status).Follow(ctx, cluster, owner)
	if err != nil {
		return err
	}
	if err := o.ObserveObjects(ctx, cluster, unserved); err != nil {
		return err
	}
	if err := o.orProblem(d.staged().Observe(ctx, o, cluster)); err != nil {
		return err
	}
	if d.acknowledges() && o.IsReachable() && o.awaitsAcknowledgement(status) {
		if err := o.readBack(ctx, cluster); err != nil {
			return err
		}
	}
	if o.Problem == nil && d.needsDesired(o) {
		o.Problem = d.observeDesired(ctx, o, cluster)
	}
	if o.Problem != nil && o.isDeleted() {
		o.Problem = d.staged().EndUndeclared(ctx, o, cluster)
	}
	return nil
}

// needsDesired: the target is to be written, or something in it.
func (d *Declared[T, S, X]) needsDesired(o *DeclaredObservation[T, S, X]) bool {
	if !o.IsReachable() {
		return false
	}
	if o.isDeleted() {
		return d.hasBeside(o) && !IsOrphaned(o.Target) && !o.AwaitsBackup()
	}
	return o.NeedsDesired(d.Parts(&o.Status)) || o.Unfinished || len(o.Returned) > 0 || d.staged().NeedsDesired(o)
}

// hasBeside is whether the target has something in its cluster beside its objects.
func (d *Declared[T, S, X]) hasBeside(o *DeclaredObservation[T, S, X]) bool {
	return len(d.staged().Beside(&o.Status).Claims) > 0
}

// observeDesired finds out what is to be in the cluster, and who else claims some of that.
func (d *Declared[T, S, X]) observeDesired(ctx context.Context, o *DeclaredObservation[T, S, X], cluster *fleet.Cluster) error {
	var err error
	if o.Desired, err = d.Declare(ctx, o, cluster); err != nil {
		return err
	}
	if err := d.CheckRecordable(o); err != nil {
		return err
	}
	o.DesiredKnown = true
	d.Room.ObserveOwners(ctx, &o.Observation, cluster.Tracker, o.Target)
	return nil
}

// CheckRecordable makes sure, before anything is applied, that the status can tell of all that is going to be in the
// cluster.
func (d *Declared[T, S, X]) CheckRecordable(o *DeclaredObservation[T, S, X]) error {
	return recordable.Check(d.Name(), d.sizeWithoutStatus(o.Target)+d.staged().Size(o), o.DriftSettings(), o.Desired, o.Inventory)
}
