package policy

import (
	"time"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/clusterstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/targetstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// wantedCluster is what a policy wants in a cluster, and when that may differ though nothing changes.
type wantedCluster struct {
	rollout.Cluster
	// own: the revision is not the policy's.
	own   bool
	again time.Time
}

// wantedIn is what a policy wants in a cluster, whose revision is the policy's.
func wantedIn(policy Policy, cluster *tenancyv1alpha1.TenantCluster, revision string, now time.Time) wantedCluster {
	rolloutPolicy := policy.GetPolicySpec().Rollout
	return wantedCluster{again: clusterstate.GatesChangeAt(cluster, policy.GetNamespace(), rolloutPolicy, now), Cluster: rollout.Cluster{
		ClusterKey: clusterKey(cluster),
		Revision:   revision,
		Parameters: clusterstate.Comparable(clusterstate.ParametersOf(cluster)),
		Connected:  clusterstate.IsConnected(cluster),
		Unusable:   clusterstate.WhyUnusable(cluster),
		Gates:      clusterstate.Gates(cluster, policy.GetNamespace(), rolloutPolicy, now),
		Deleting:   !cluster.DeletionTimestamp.IsZero(),
	}}
}

// with adds what a policy wants in this cluster alone.
func (w wantedCluster) with(pair Pair, now time.Time) wantedCluster {
	if pair.Revision != "" {
		w.Revision, w.own = pair.Revision, true
	}
	w.Content = pair.Content
	w.Gates, w.Overrides = append(w.Gates, pair.Gates...), pair.Overrides
	if pair.Again.After(now) {
		w.again = times.Earliest(w.again, pair.Again)
	}
	for _, gate := range pair.Gates {
		if gate.Until.After(now) {
			w.again = times.Earliest(w.again, gate.Until)
		}
	}
	return w
}

// targetOf is a target in the words of the planner. Of those that are Ready nobody asks for the message.
func targetOf[P Policy, T Target](kind Kind[P, T], policy P, wanted settings, target T) rollout.Target {
	state, message := kind.State(target)
	if state == rollout.Ready {
		message = ""
	}
	spec := target.GetTargetSpec()
	return rollout.Target{
		Name:            target.GetName(),
		Cluster:         rollout.ClusterKey(spec.ClusterRef),
		Revision:        spec.Revision,
		Content:         spec.Content,
		Parameters:      clusterstate.Comparable(spec.Cluster),
		SettingsCurrent: wanted.areOn(spec) && kind.SettingsCurrent(target, policy),
		State:           state,
		Standing:        state == rollout.Progressing && targetstate.IsStanding(target),
		Applied:         targetstate.IsApplied(target),
		ReadySince:      targetstate.ReadySince(target),
		Since:           targetstate.NotReadySince(target),
		Message:         message,
		Deleting:        !target.GetDeletionTimestamp().IsZero(),
		Part:            partOf(kind, target),
	}
}

// partOf a target is what its policy tells of it; nil for nothing.
func partOf[P Policy, T Target](kind Kind[P, T], target T) any {
	if summing, ok := kind.(SummingKind[P, T]); ok {
		return summing.Part(target)
	}
	return nil
}
