package tenantcluster

import (
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// orderDecision is what should be done about the Cluster of a TenantCluster with spec.topology. The zero
// value is nothing.
type orderDecision struct {
	// create or update the Cluster; nil for neither.
	create, update *clusterv1.Cluster
	// edited: the update takes back what somebody else did.
	edited bool
	// filledIn is the Cluster, if more is filled in than when Cluster API took the order; nil otherwise.
	filledIn *clusterv1.Cluster
	// rehearse a change whose upgrade is about to begin: what Cluster API refuses does not begin.
	rehearse *clusterv1.Cluster
	// delete the Cluster.
	delete bool
	// step of an upgrade, where there is a Cluster.
	step topology.Step
	// problem is what a person has to mend before anything is ordered.
	problem *problem
	// turnedDown: the problem is that Cluster API refused what was decided.
	turnedDown bool
	// ordered is the version that Cluster API was asked for before.
	ordered string
	// waits says what is awaited before anything is ordered.
	waits string
}

// ordered: the Cluster is one that Daytwo made for this TenantCluster.
func (o observed) ordered() bool {
	return o.cluster.Spec.Topology != nil && o.made.live != nil && topology.IsOurs(o.made.live, o.installation)
}

func planOrder(seen observed) orderDecision {
	if seen.cluster.Spec.Topology == nil || seen.deleting() {
		return orderDecision{}
	}
	if todo, done := planFirstOrder(seen); done {
		return todo
	}
	live := seen.made.live
	todo := orderDecision{ordered: live.Spec.Topology.Version, step: topology.Next(situationOf(seen))}
	if handsOff(seen) {
		return todo.withoutHands()
	}
	if todo.step.Refused {
		todo.problem = &problem{todo.step.Reason, todo.step.Message}
	}
	desired := topology.Desired(seen.cluster, todo.step.Version, seen.installation)
	switch topology.Compare(live, desired, seen.cluster.Status.TopologyHash, seen.made.editor) {
	case topology.AsTaken:
	case topology.FilledIn:
		todo.filledIn = live
	case topology.Edited:
		todo.edited = true
		fallthrough
	case topology.Outdated:
		todo.update = topology.Reconciled(live, desired)
		todo.step = todo.step.AfterOtherChanges()
	}
	if begin := todo.step.Begin; begin != nil {
		todo.rehearse = topology.Reconciled(live, topology.Desired(seen.cluster, begin.To, seen.installation))
	}
	return todo
}

// undone is what may be told of a decision that was not carried out: nothing of what would have come of it.
func (d orderDecision) undone() orderDecision {
	return orderDecision{problem: d.problem, waits: d.waits, edited: d.edited}
}

// withoutHands only tells how an order stands. An upgrade that Cluster API has begun goes on; one that it was
// not asked for yet is off the record again.
func (d orderDecision) withoutHands() orderDecision {
	if d.step.Begin != nil || d.step.Version != d.ordered {
		d.step = topology.Step{
			Version: d.ordered, Finish: d.step.Begin == nil,
			Reason: metav1alpha1.ReasonSuspended, Message: "The upgrade waits: the TenantCluster is suspended",
		}
	}
	return d
}

// planFirstOrder decides where there is no Cluster to change. It returns false if there is one.
func planFirstOrder(seen observed) (todo orderDecision, done bool) {
	live := seen.made.live
	switch {
	case seen.made.presence == notInstalled:
		return orderDecision{}, true // The missing credentials say so.
	case live != nil && !seen.ordered():
		return orderDecision{problem: nameConflict(live)}, true
	case live != nil && !live.DeletionTimestamp.IsZero():
		return orderDecision{waits: fmt.Sprintf(
			"Cluster %s is being deleted, though not by Daytwo; it is ordered anew when it is gone. That will be another cluster, "+
				"which the provider has to accept with the annotation %s", live.Name, metav1alpha1.AnnotationAcceptClusterID)}, true
	case live != nil:
		return orderDecision{}, false
	case seen.maintenance.invalid != "":
		return orderDecision{problem: &problem{reasonInvalidWindow, seen.maintenance.invalid}}, true
	case handsOff(seen):
		return orderDecision{waits: "nothing is ordered while the TenantCluster is suspended"}, true
	}
	return orderDecision{create: topology.Desired(seen.cluster, seen.cluster.Spec.Topology.Version, seen.installation)}, true
}

// nameConflict does not take over what somebody else made.
func nameConflict(live *clusterv1.Cluster) *problem {
	return &problem{tenancyv1alpha1.ReasonNameConflict, fmt.Sprintf(
		"there is a Cluster %s in this namespace already which Daytwo did not make: give the TenantCluster another name, "+
			"or use spec.clusterRef to register that one", live.Name)}
}

func handsOff(seen observed) bool {
	return suspension.Of(seen.cluster.Spec.Suspend, seen.cluster.Annotations, seen.now).Active
}

func situationOf(seen observed) topology.Situation {
	return topology.Situation{
		Now:    seen.now,
		Wanted: seen.cluster.Spec.Topology.Version, Ordered: seen.made.live.Spec.Topology.Version,
		Progress: topology.Read(seen.made.live), Underway: seen.cluster.Status.Upgrade,
		WindowOpen: seen.maintenance.open, NextWindow: seen.maintenance.opensAt(),
		Policy: seen.cluster.Spec.Upgrade, Unready: seen.unready, Backup: seen.backup,
	}
}
