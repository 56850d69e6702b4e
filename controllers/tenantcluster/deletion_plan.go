package tenantcluster

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
)

// leavingOf is what was seen of a TenantCluster that is being deleted, in the words of package deletion.
func leavingOf(seen observed) deletion.Situation {
	return deletion.Situation{
		Now: seen.now, Cluster: seen.cluster, Silence: silenceOf(seen),
		Drills: seen.left.drills, Backups: seen.left.backups, Targets: seen.left.targets, Removal: removalOf(seen),
	}
}

// silenceOf is how the cluster does not answer. One that answers and may not be worked in is as good as silent.
func silenceOf(seen observed) deletion.Silence {
	verdict := judge(seen)
	switch {
	case seen.credentials.problem != nil:
		return deletion.Silence{Since: since(seen, tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse), Why: seen.credentials.problem.message}
	case isAwaited(seen.link):
		return silenceOnRecord(seen)
	case seen.link.Phase != fleet.Connected:
		return deletion.Silence{Since: since(seen, tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse), Why: seen.link.Message}
	case verdict.conflict():
		return deletion.Silence{Since: since(seen, tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionTrue), Why: verdict.message}
	}
	return deletion.Silence{}
}

// silenceOnRecord stands in for an answer that is awaited, after the manager started say.
func silenceOnRecord(seen observed) deletion.Silence {
	connected := findCondition(seen, tenancyv1alpha1.ConditionConnected)
	if connected == nil || connected.Status != metav1.ConditionFalse {
		return deletion.Silence{Untried: true}
	}
	return deletion.Silence{Since: connected.LastTransitionTime.Time, Why: connected.Message, Untried: true}
}

// since is when a condition took a status that it has now.
func since(seen observed, kind string, status metav1.ConditionStatus) time.Time {
	if found := findCondition(seen, kind); found != nil && found.Status == status {
		return found.LastTransitionTime.Time
	}
	return seen.now
}

func removalOf(seen observed) deletion.Removal {
	switch {
	case seen.cluster.Spec.Topology == nil:
		return deletion.Removal{}
	case seen.made.unsettled != nil:
		return deletion.Removal{Unknown: true, Needed: true}
	case !seen.ordered():
		return deletion.Removal{}
	}
	return deletion.Removal{Needed: true, Begun: !seen.made.live.DeletionTimestamp.IsZero(), Message: removal(seen.made.live)}
}
