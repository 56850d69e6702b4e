package clusterstate

import (
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// GatesChangeAt is when the gates of a cluster for policies of a namespace are others though nothing changes; zero for never.
func GatesChangeAt(cluster *tenancyv1alpha1.TenantCluster, namespace string, rolloutPolicy metav1alpha1.RolloutPolicy, now time.Time) time.Time {
	next := suspension.InCluster(cluster, namespace, now).Until
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

// Gates hold changes of the policies of a namespace back in one cluster.
func Gates(cluster *tenancyv1alpha1.TenantCluster, namespace string, rolloutPolicy metav1alpha1.RolloutPolicy, now time.Time) []rollout.Gate {
	var gates []rollout.Gate
	if suspended := suspension.InCluster(cluster, namespace, now); suspended.Active {
		gates = append(gates, SuspendedGate(suspended))
	}
	if cluster.Status.Upgrade != nil {
		gates = append(gates, rollout.Gate{
			Reason: metav1alpha1.ReasonUpgrading, Message: "waiting for the upgrade of the cluster",
			Blocks: rollout.Create | rollout.Update, KeepsSlot: true, Pauses: true,
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

// SuspendedGate holds changes back during a suspension.
func SuspendedGate(suspended suspension.Suspension) rollout.Gate {
	return rollout.Gate{
		Reason: metav1alpha1.ReasonSuspended, Message: "held back by suspension", Until: suspended.Until,
		Blocks: rollout.Create | rollout.Update, KeepsSlot: true, Pauses: true,
	}
}

// nextWindow is when the cluster's next maintenance window opens; zero if none is known.
func nextWindow(cluster *tenancyv1alpha1.TenantCluster) time.Time {
	if cluster.Status.MaintenanceWindow == nil {
		return time.Time{}
	}
	return cluster.Status.MaintenanceWindow.Start.Time
}
