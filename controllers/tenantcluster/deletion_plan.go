package tenantcluster

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
)

// leavingOf is what was seen of a TenantCluster that is being deleted, in the words of package deletion.
func leavingOf(o observation) deletion.Situation {
	return deletion.Situation{
		Now: o.now, Cluster: o.cluster, Unreachable: unreachableOf(o),
		Drills: o.blockers.drills, Enrollments: o.blockers.backups, Targets: o.blockers.targets, Removal: removalOf(o),
	}
}

// unreachableOf is how the cluster does not answer. One that answers and may not be worked in is as good as silent.
func unreachableOf(o observation) deletion.Unreachable {
	verdict := decideIdentity(o)
	switch {
	case o.credentials.problem != nil:
		return deletion.Unreachable{Since: since(o, tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse), Why: o.credentials.problem.message}
	case isAwaited(o.link):
		return unreachableOnRecord(o)
	case o.link.Phase != fleet.Connected:
		return deletion.Unreachable{Since: since(o, tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse), Why: o.link.Message}
	case verdict.conflict():
		return deletion.Unreachable{Since: since(o, tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionTrue), Why: verdict.message}
	}
	return deletion.Unreachable{}
}

// unreachableOnRecord stands in for an answer that is awaited, after the manager started say.
func unreachableOnRecord(o observation) deletion.Unreachable {
	connected := findCondition(o, tenancyv1alpha1.ConditionConnected)
	if connected == nil || connected.Status != metav1.ConditionFalse {
		return deletion.Unreachable{Untried: true}
	}
	return deletion.Unreachable{Since: connected.LastTransitionTime.Time, Why: connected.Message, Untried: true}
}

// since is when a condition took a status that it has now.
func since(o observation, kind string, status metav1.ConditionStatus) time.Time {
	if found := findCondition(o, kind); found != nil && found.Status == status {
		return found.LastTransitionTime.Time
	}
	return o.now
}

func removalOf(o observation) deletion.Removal {
	switch {
	case o.cluster.Spec.Topology == nil:
		return deletion.Removal{}
	case o.made.unsettled != nil:
		return deletion.Removal{Unknown: true, Needed: true}
	case o.isLost():
		return deletion.Removal{Unknown: true, Needed: true, Message: o.home.problem.message}
	case !o.ordered():
		return deletion.Removal{}
	}
	return deletion.Removal{Needed: true, Begun: !o.made.live.DeletionTimestamp.IsZero(), Message: removal(o.made.live)}
}
