package tenantcluster

import (
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// orderPlan is what should be done about the Cluster of a TenantCluster with spec.topology. The zero
// value is nothing.
type orderPlan struct {
	// create or update the Cluster; nil for neither.
	create, update *clusterv1.Cluster
	// edited: the update takes back what somebody else did.
	edited bool
	// asOrdered: nothing is to be changed in the topology of the Cluster.
	asOrdered bool
	// filledIn is the Cluster, if more is filled in than when Cluster API took the order; nil otherwise.
	filledIn *clusterv1.Cluster
	// dryRun a change whose upgrade is about to begin: what Cluster API refuses does not begin.
	dryRun *clusterv1.Cluster
	// delete the Cluster.
	delete bool
	// step of an upgrade, where there is a Cluster.
	step topology.Step
	// problem is what a person has to mend before anything is ordered.
	problem *problem
	// rejected: the problem is that Cluster API refused what was decided.
	rejected bool
	// ordered is the version that Cluster API was asked for before.
	ordered string
	// waits says what is awaited before anything is ordered.
	waits string
}

// ordered: the Cluster is one that Daytwo made for this TenantCluster.
func (o observation) ordered() bool {
	return o.cluster.Spec.Topology != nil && o.made.live != nil && topology.IsOurs(o.made.live, o.orders.Installation)
}

func planOrder(o observation) orderPlan {
	if o.cluster.Spec.Topology == nil || o.deleting() {
		return orderPlan{}
	}
	if p, done := planFirstOrder(o); done {
		return p
	}
	live := o.made.live
	p := orderPlan{ordered: live.Spec.Topology.Version, step: topology.Next(situationOf(o))}
	if handsOff(o) {
		return p.withoutHands()
	}
	if refused := refusedOrder(o); refused != nil {
		p = p.withoutHands()
		p.problem = refused
		return p
	}
	if p.step.Refused {
		p.problem = &problem{p.step.Reason, p.step.Message}
	}
	desired := topology.Desired(o.cluster, p.step.Version, o.orders)
	switch topology.Compare(live, desired, o.cluster.Status.TopologyHash, o.made.editor) {
	case topology.AsTaken:
		p.asOrdered = true
	case topology.FilledIn:
		p.asOrdered, p.filledIn = true, live
	case topology.Edited:
		p.edited = true
		fallthrough
	case topology.Outdated:
		p.update = topology.Reconciled(live, desired)
		p.step = p.step.AfterOtherChanges()
	}
	if begin := p.step.Begin; begin != nil {
		p.dryRun = topology.Reconciled(live, topology.Desired(o.cluster, begin.To, o.orders))
	}
	return p
}

// undone is what may be told of a decision that was not carried out: nothing of what would have come of it.
func (d orderPlan) undone() orderPlan {
	return orderPlan{problem: d.problem, waits: d.waits, edited: d.edited}
}

// withoutHands only tells how an order stands. An upgrade that Cluster API has begun goes on; one that it was
// not asked for yet is off the record again.
func (d orderPlan) withoutHands() orderPlan {
	if d.step.Begin != nil || d.step.Version != d.ordered {
		d.step = topology.Step{
			Version: d.ordered, Finish: d.step.Begin == nil,
			Reason: metav1alpha1.ReasonSuspended, Message: "The upgrade waits: the TenantCluster is suspended",
		}
	}
	return d
}

// planFirstOrder decides where there is no Cluster to change. It returns false if there is one.
func planFirstOrder(o observation) (p orderPlan, done bool) {
	live := o.made.live
	switch {
	case o.made.presence == optionalkind.NotInstalled:
		return orderPlan{}, true // The missing credentials say so.
	case o.home.problem != nil:
		return orderPlan{problem: o.home.problem}, true
	case live != nil && !o.ordered():
		return orderPlan{problem: nameConflict(live)}, true
	case live != nil && !live.DeletionTimestamp.IsZero():
		return orderPlan{waits: fmt.Sprintf(
			"Cluster %s is being deleted, though not by Daytwo; it is ordered anew when it is gone. That will be another cluster, "+
				"which the provider has to accept with the annotation %s", live.Name, metav1alpha1.AnnotationAcceptClusterID)}, true
	case live != nil:
		return orderPlan{}, false
	}
	switch refused := refusedOrder(o); {
	case refused != nil:
		return orderPlan{problem: refused}, true
	case o.maintenance.Invalid != "":
		return orderPlan{problem: &problem{reasonInvalidWindow, o.maintenance.Invalid}}, true
	case handsOff(o):
		return orderPlan{waits: "nothing is ordered while the TenantCluster is suspended"}, true
	case o.home.waits != "":
		return orderPlan{waits: o.home.waits}, true
	}
	return orderPlan{create: topology.Desired(o.cluster, o.cluster.Spec.Topology.Version, o.orders)}, true
}

// refusedOrder is why an order is not passed on; nil if it may be.
func refusedOrder(o observation) *problem {
	if refused := o.orders.Check(o.cluster); refused != nil {
		return &problem{refused.Reason, refused.Field + ": " + refused.Message}
	}
	return nil
}

// nameConflict does not take over what somebody else made.
func nameConflict(live *clusterv1.Cluster) *problem {
	return &problem{tenancyv1alpha1.ReasonNameConflict, fmt.Sprintf(
		"there is a Cluster %s in namespace %s already which Daytwo did not make: give the TenantCluster another name, "+
			"or have the provider remove that one", live.Name, live.Namespace)}
}

func handsOff(o observation) bool {
	return suspension.OfCluster(o.cluster, o.now).Active
}

func situationOf(o observation) topology.Situation {
	return topology.Situation{
		Now:    o.now,
		Wanted: o.cluster.Spec.Topology.Version, Ordered: o.made.live.Spec.Topology.Version,
		Progress: topology.Read(o.made.live), Underway: o.cluster.Status.Upgrade,
		WindowOpen: o.maintenance.Open, NextWindow: o.maintenance.OpensAt(),
		Policy: o.cluster.Spec.Upgrade, Unready: o.unready, Backup: o.backup,
	}
}
