package policy

import (
	"slices"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// gatesChangeAt is when the gates of a cluster are others though nothing changes; zero for never.
func gatesChangeAt(cluster *tenancyv1alpha1.TenantCluster, rolloutPolicy metav1alpha1.RolloutPolicy, now time.Time) time.Time {
	next := suspension.Of(cluster.Spec.Suspend, cluster.Annotations, now).Until
	window := cluster.Status.MaintenanceWindow
	if !rolloutPolicy.Disruptive || window == nil {
		return next
	}
	for _, at := range []time.Time{window.Start.Time, window.End.Time} {
		if at.After(now) {
			next = times.Earliest(next, at)
		}
	}
	return next
}

// policyGates hold changes back in all clusters: those of the kind, the policy is suspended, or it has no usable content.
func policyGates[P Policy, T Target](o observation[P, T]) []rollout.Gate {
	gates := slices.Clone(o.gates)
	if suspended := suspension.Of(o.policy.GetPolicySpec().Suspend, o.policy.GetAnnotations(), o.now); suspended.Active {
		gates = append(gates, suspendedGate(suspended))
	}
	switch {
	case o.stall != nil && !o.stall.Usable:
		gates = append(gates, contentGate(o.stall.Reason, o.stall.Retry))
	case o.snapshot == nil:
		gates = append(gates, contentGate(metav1alpha1.ReasonProgressing, time.Time{}))
	}
	return gates
}

// clusterGates hold changes back in one cluster.
func clusterGates(cluster *tenancyv1alpha1.TenantCluster, rolloutPolicy metav1alpha1.RolloutPolicy, now time.Time) []rollout.Gate {
	var gates []rollout.Gate
	if suspended := suspension.Of(cluster.Spec.Suspend, cluster.Annotations, now); suspended.Active {
		gates = append(gates, suspendedGate(suspended))
	}
	if cluster.Status.Upgrade != nil {
		gates = append(gates, rollout.Gate{
			Reason: metav1alpha1.ReasonUpgrading, Message: "waiting for the upgrade of the cluster",
			Blocks: rollout.Create | rollout.Update, KeepsSlot: true,
		})
	}
	if !cluster.DeletionTimestamp.IsZero() && cluster.KeepsTargets() {
		gates = append(gates, rollout.Gate{
			Reason: metav1alpha1.ReasonTerminating, Message: "waiting for the steps of the deletion before this one",
			Blocks: rollout.Delete, KeepsSlot: true,
		})
	}
	if rolloutPolicy.Disruptive && !cluster.InMaintenance(now) {
		gates = append(gates, rollout.Gate{
			Reason: metav1alpha1.ReasonWindowClosed, Message: "waiting for a maintenance window", Until: nextWindow(cluster),
			Blocks: rollout.Update, KeepsSlot: true, // A first target disturbs nothing.
		})
	}
	return gates
}

func suspendedGate(suspended suspension.Suspension) rollout.Gate {
	return rollout.Gate{
		Reason: metav1alpha1.ReasonSuspended, Message: "held back by suspension", Until: suspended.Until,
		Blocks: rollout.Create | rollout.Update, KeepsSlot: true,
	}
}

func contentGate(reason string, retry time.Time) rollout.Gate {
	return rollout.Gate{
		Reason: reason, Message: "waiting for usable content", Until: retry,
		Blocks: rollout.Create | rollout.Update, KeepsSlot: true,
	}
}

// nextWindow is when the cluster's next maintenance window opens; zero if none is known.
func nextWindow(cluster *tenancyv1alpha1.TenantCluster) time.Time {
	if cluster.Status.MaintenanceWindow == nil {
		return time.Time{}
	}
	return cluster.Status.MaintenanceWindow.Start.Time
}
