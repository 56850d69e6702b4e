package target

import (
	"cmp"
	"context"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// observe reads everything once, after what the target has in its cluster is followed there. It returns the cluster to
// work with, nil if there is none. It passes over what goes wrong where nothing is done in the cluster any more.
func (d *Declared[T, S]) observe(ctx context.Context, target T, known *Known[T, S, struct{}]) (*declaredObservation[S], *fleet.Cluster, error) {
	o, err := d.observeTarget(target, known)
	var cluster *fleet.Cluster
	if err == nil {
		cluster, err = d.observeTenant(ctx, o)
	}
	if err == nil && cluster != nil {
		err = d.observeCluster(ctx, o, target, cluster)
	}
	if err != nil && o.isObjectsAbandonable() {
		o.Unreachable, cluster, err = cmp.Or(o.Unreachable, err.Error()), nil, nil
	}
	return o, cluster, err
}

// observeTarget takes in the target, and what is remembered of it.
func (d *Declared[T, S]) observeTarget(target T, known *Known[T, S, struct{}]) (*declaredObservation[S], error) {
	o := &declaredObservation[S]{drift: d.Drift(target)}
	from, restored := known.Postponed(target)
	if !restored {
		from = d.Status(target)
	}
	d.CopyStatus(&o.status, from)
	status := d.Parts(&o.status)
	var err error
	o.Observation, err = NewObservation(target, &o.drift, status, known.Objects, d.Rules, d.Clock.Now())
	o.Restored, o.Inputs = restored, InputsHash(target, d.Installation)
	if o.isDeleted() {
		o.Inputs = cmp.Or(status.InputsHash, o.Inputs)
	}
	return o, err
}

// observeTenant finds the cluster, or why there is none to work with.
func (d *Declared[T, S]) observeTenant(ctx context.Context, o *declaredObservation[S]) (*fleet.Cluster, error) {
	cluster, err := d.Room.Observe(ctx, &o.Preconditions)
	if err != nil {
		return nil, err
	}
	status := d.Parts(&o.status)
	o.TakeRequest(status)
	if cluster != nil && status.ClusterID != "" && status.ClusterID != string(cluster.ID) {
		// What is in another cluster, in whose place the provider accepted this one, is not in this one.
		o.replaced = o.Replaced(Leftovers{ClusterID: status.ClusterID, Inventory: o.Inventory})
		o.Inventory = apply.Inventory{}
		status.InputsHash, status.Applying, status.Revision, status.Acknowledged = "", "", "", nil
	}
	return cluster, nil
}

// observeCluster follows what is in the cluster, looks at it, and at what is to be there.
func (d *Declared[T, S]) observeCluster(ctx context.Context, o *declaredObservation[S], target T, cluster *fleet.Cluster) error {
	if err := d.Room.Restore(ctx, ClusterKey(target), cluster); err != nil {
		return err
	}
	status := d.Parts(&o.status)
	unserved, err := o.Objects(status).Follow(ctx, cluster)
	if err != nil {
		return err
	}
	if err := o.ObserveObjects(ctx, cluster, unserved); err != nil {
		return err
	}
	if d.acknowledges() && o.IsReachable() && o.awaitsAcknowledgement(status) {
		if err := o.readBack(ctx, cluster); err != nil {
			return err
		}
	}
	if o.IsReachable() && !o.isDeleted() && o.NeedsDesired(status) {
		o.problem = d.observeDesired(ctx, o, target, cluster)
	}
	return nil
}

// observeDesired finds out what is to be in the cluster, and who else claims some of that.
func (d *Declared[T, S]) observeDesired(ctx context.Context, o *declaredObservation[S], target T, cluster *fleet.Cluster) error {
	list, err := d.Declare(ctx, target, cluster)
	if err != nil {
		return err
	}
	if o.Desired, err = apply.Prepare(list, d.Installation, ""); err != nil {
		return err
	}
	if err := cmp.Or(o.checkCount(), o.CheckRecordable(d.Name(), d.sizeWithoutStatus(target))); err != nil {
		return err
	}
	o.DesiredKnown = true
	d.Room.ObserveHolders(ctx, &o.Observation, cluster.Tracker, target)
	return nil
}

// ObserveHolders looks which of the desired objects another target has.
func (r *Reconciler[T, S, M]) ObserveHolders(ctx context.Context, o *Observation, tracker *fleet.Tracker, target T) {
	owner := r.Owner(target)
	o.Holders = map[objects.Key]string{}
	for _, one := range o.Desired {
		if _, listed := o.Inventory[one.Key()]; listed {
			continue
		}
		if holder, taken := tracker.Holder(one.Key()); taken && holder != owner {
			o.Holders[one.Key()] = r.HolderName(ctx, holder)
		}
	}
}
