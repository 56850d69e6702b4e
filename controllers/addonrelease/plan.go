package addonrelease

import (
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// plan is what to do. The zero plan is to do nothing.
type plan struct {
	apply.Plan
	// helm is what to do beside that, if the source is a chart.
	helm helm.Plan
	// finalize removes the finalizer once the inventory is empty.
	finalize bool
}

// makePlan decides. It is pure.
func makePlan(o observation) plan {
	switch {
	case !o.release.DeletionTimestamp.IsZero():
		return planDeletion(o)
	case !o.IsReachable() || o.problem != nil || !o.DesiredKnown:
		return plan{}
	}
	p := plan{Plan: apply.MakePlan(o.objects()), helm: helm.MakePlan(o.forHelm())}
	if at := o.recordReady(); o.helm.RecordDrifted && at.After(o.Now) {
		p.Wake(at)
	}
	p.Begins = !o.settled() && o.status.Applying != o.Inputs && (!p.IsEmpty() || p.helm.Operation != nil)
	return p
}

// planDeletion removes everything, or lets go of it.
func planDeletion(o observation) plan {
	if o.isAbandonable() || len(o.Inventory) == 0 && o.status.Helm == nil {
		return plan{finalize: true}
	}
	if !o.IsReachable() || o.problem != nil || o.AwaitsBackup() {
		return plan{}
	}
	p := plan{finalize: true}
	if !target.IsOrphaned(o.release) {
		p.helm = helm.MakePlan(o.forHelm())
	}
	everything := o.objects()
	everything.Desired = nil
	p.Removals = apply.PlanRemovals(everything)
	return p
}
