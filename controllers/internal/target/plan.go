package target

import "github.com/daytwo-dev/daytwo/controllers/internal/target/apply"

// Plan is what to do for a target. The zero plan is to do nothing.
type Plan struct {
	apply.Plan
	// Staged is what to do beside the objects.
	Staged StagedPlan
	// Finalize removes the finalizer once nothing of the target is left in the cluster, or is to be removed there.
	Finalize bool
}

// NewPlan decides what to do for a target. It is pure.
func (d *Declared[T, S, X]) NewPlan(o *DeclaredObservation[T, S, X]) Plan {
	switch {
	case o.isDeleted():
		return d.planDeletion(o)
	case !o.IsReachable() || o.Problem != nil || !o.DesiredKnown:
		return Plan{}
	}
	status := d.Parts(&o.Status)
	p := Plan{Plan: apply.NewPlan(o.Objects(status)), Staged: d.staged().Plan(o)}
	p.Wake(p.Staged.WakeAt)
	isSettled := o.IsSettled(status) && !o.Unfinished && len(o.Returned) == 0
	p.Begins = !isSettled && status.Applying != o.Inputs && (!p.IsEmpty() || p.Staged.Begins)
	return p
}

// planDeletion removes everything, or leaves it where it is.
func (d *Declared[T, S, X]) planDeletion(o *DeclaredObservation[T, S, X]) Plan {
	if o.isObjectsAbandonable() || len(o.Inventory) == 0 && !d.hasBeside(o) {
		return Plan{Finalize: true}
	}
	if !o.IsReachable() || o.Problem != nil || o.AwaitsBackup() {
		return Plan{}
	}
	everything := o.Objects(d.Parts(&o.Status))
	everything.Desired = nil
	return Plan{Finalize: true, Plan: apply.Plan{Removals: apply.PlanRemovals(everything)}, Staged: d.staged().Plan(o)}
}

// isObjectsAbandonable is whether a deleted target goes without removing what it has in its cluster.
func (o Observation) isObjectsAbandonable() bool { return o.IsAbandonable(len(o.External()) > 0) }
