package target

import "github.com/daytwo-dev/daytwo/controllers/internal/target/apply"

// Plan is what to do for a target. The zero plan is to do nothing.
type Plan struct {
	apply.Plan
	// Finalize removes the finalizer once nothing of the target is left in the cluster, or is to be removed there.
	Finalize bool
}

// MakePlan decides what to do for a target that is nothing but its objects. It is pure.
func MakePlan(o Observation, status Status) Plan {
	switch {
	case o.isDeleted():
		return planDeletion(o, status)
	case !o.IsReachable() || !o.DesiredKnown:
		return Plan{}
	}
	p := Plan{Plan: apply.MakePlan(o.Objects(status))}
	p.Begins = !o.IsSettled(status) && status.Applying != o.Inputs && !p.IsEmpty()
	return p
}

// planDeletion removes everything, or leaves it where it is.
func planDeletion(o Observation, status Status) Plan {
	if o.isObjectsAbandonable() || len(o.Inventory) == 0 {
		return Plan{Finalize: true}
	}
	if !o.IsReachable() || o.AwaitsBackup() {
		return Plan{}
	}
	everything := o.Objects(status)
	everything.Desired = nil
	return Plan{Finalize: true, Plan: apply.Plan{Removals: apply.PlanRemovals(everything)}}
}

// isObjectsAbandonable is whether a deleted target that is nothing but its objects goes without removing them.
func (o Observation) isObjectsAbandonable() bool { return o.IsAbandonable(len(o.External()) > 0) }
