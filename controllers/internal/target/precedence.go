package target

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/statuses"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// ObserveOwners looks which of the desired objects another target has. It demands those that this one goes before, unless it
// is suspended and would not write them, and waits for the others. What only has to be there, whoever makes it, is neither
// demanded nor awaited.
func (r *Reconciler[T, S, M]) ObserveOwners(ctx context.Context, o *Observation, tracked *tracker.Tracker, target T) {
	owner := r.Owner(target)
	o.Owners = map[objects.Key]string{}
	for _, one := range o.Desired {
		if _, listed := o.Inventory[one.Key()]; listed {
			continue
		}
		holder, taken := tracked.OwnerOf(one.Key())
		if !taken || holder == owner {
			continue
		}
		switch {
		case one.Implied || o.isDeleted():
		case r.precedes(owner, holder) && !o.Suspension.Active:
			taken = tracked.Demand(owner, holder, one.Key())
		default:
			taken = tracked.Await(owner, holder, one.Key())
		}
		if taken {
			o.Owners[one.Key()] = r.OwnerName(ctx, owner, holder)
		}
	}
}

// relinquish takes the objects that others demand out of the inventory, so that the target neither corrects nor removes them,
// stores that, and hands them over then: in no status are they of two targets, also if the manager dies in between. It comes
// before anything else is done in the cluster, whether the target is suspended or deleted, and the target is looked at again
// then. What is declared is applied anew, so that the target tells whose they are.
func (d *Declared[T, S, X]) relinquish(
	ctx context.Context, o *DeclaredObservation[T, S, X], tracked *tracker.Tracker, known *Known[T, S, struct{}], writer *statuses.Writer[T, S],
) (reconcile.Result, error) {
	var status S
	from, _ := d.latestStatus(o.Target, known)
	d.CopyStatus(&status, from)
	parts := d.Parts(&status)
	before, err := apply.ReadInventory(parts.Inventory)
	if err != nil {
		return reconcile.Result{}, err
	}
	inventory := maps.Clone(before)
	maps.DeleteFunc(inventory, func(key objects.Key, _ apply.Entry) bool { return slices.Contains(o.outranked, key) })
	parts.Inventory = inventory.Stored()
	if !o.isDeleted() {
		parts.InputsHash = ""
	}
	if err := writer.Record(ctx, status); err != nil {
		return reconcile.Result{}, fmt.Errorf("record which objects go to others: %w", err)
	}
	known.unsaved = nil
	for _, key := range o.outranked {
		if e, listed := before[key]; !tracked.Relinquish(d.Room.Owner(o.Target), key) && listed {
			inventory[key] = e // Nobody demands it by now.
		}
	}
	parts.Inventory = inventory.Stored()
	if err := writer.Write(ctx, status); err != nil {
		return reconcile.Result{}, fmt.Errorf("record which objects stay: %w", err)
	}
	return nextSlice(), nil
}

// precedes is whether a target gets what another one has: the provider's targets go before those of customers. Between two
// of the provider's, and between two of customers', the first one keeps it.
func (r *Reconciler[T, S, M]) precedes(owner, holder tracker.Owner) bool {
	return r.isProviders(owner) && !r.isProviders(holder)
}

func (r *Reconciler[T, S, M]) isProviders(owner tracker.Owner) bool {
	return r.ProviderNamespace != "" && owner.Namespace == r.ProviderNamespace
}

// OwnerName says to the people of one target whom they should talk to about what another one has: the policy of that. Only
// the provider's people hear names from the namespaces of customers that are not their own.
func (r *Reconciler[T, S, M]) OwnerName(ctx context.Context, asking, holder tracker.Owner) string {
	isOther := asking.Namespace != holder.Namespace
	if isOther && !r.isProviders(asking) && !r.isProviders(holder) {
		return "another customer"
	}
	name := r.Targets.ResponsibleFor(ctx, r.Client, holder.Kind, holder.NamespacedName)
	if isOther && r.isProviders(holder) {
		return "the provider's " + strings.Replace(name, " "+holder.Namespace+"/", " ", 1)
	}
	return name
}
