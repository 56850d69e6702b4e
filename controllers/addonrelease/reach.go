package addonrelease

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// attempt to connect to a cluster that cannot be worked with now.
type attempt string

const (
	// underWay: none has ended yet since the manager started, or what it found is about to be admitted.
	underWay attempt = "under way"
	// failedLast: the latest has ended without an answer.
	failedLast attempt = "failed"
)

func attemptOf(state fleet.State, known bool) attempt {
	if !known || state.Phase == fleet.Connecting || state.Phase == fleet.Connected {
		return underWay
	}
	return failedLast
}

// findOut tells a cluster that does not answer from one that was not asked yet. A deleted release is given up for
// what is found out now, and not for what was true before the manager started.
func (o *observation) findOut(tenant *tenancyv1alpha1.TenantCluster, latest attempt) {
	deleted := !o.release.DeletionTimestamp.IsZero()
	if deleted && latest == underWay && !isHopeless(tenant) {
		o.pending = true
		return
	}
	o.unreachable = whyUnreachable(tenant)
	o.pending = o.unreachable == ""
}

// isHopeless: no connection comes of it before somebody does something.
func isHopeless(tenant *tenancyv1alpha1.TenantCluster) bool {
	connected := meta.FindStatusCondition(tenant.Status.Conditions, tenancyv1alpha1.ConditionConnected)
	return meta.IsStatusConditionTrue(tenant.Status.Conditions, tenancyv1alpha1.ConditionIdentityConflict) ||
		meta.IsStatusConditionFalse(tenant.Status.Conditions, tenancyv1alpha1.ConditionKubeconfigValid) ||
		connected != nil && connected.Reason == tenancyv1alpha1.ReasonNoAccess
}

// whyUnreachable reads it from the TenantCluster; empty if that is connected as far as it says.
func whyUnreachable(tenant *tenancyv1alpha1.TenantCluster) string {
	for _, one := range []struct {
		conditionType string
		bad           metav1.ConditionStatus
	}{
		{tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionTrue},
		{tenancyv1alpha1.ConditionKubeconfigValid, metav1.ConditionFalse},
		{tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse},
	} {
		if condition := meta.FindStatusCondition(tenant.Status.Conditions, one.conditionType); condition != nil && condition.Status == one.bad {
			return fmt.Sprintf("TenantCluster %s/%s: %s", tenant.Namespace, tenant.Name, condition.Message)
		}
	}
	if meta.IsStatusConditionTrue(tenant.Status.Conditions, tenancyv1alpha1.ConditionConnected) {
		return ""
	}
	return fmt.Sprintf("TenantCluster %s/%s is not connected yet", tenant.Namespace, tenant.Name)
}

// moveFrom forgets what is in another cluster, in whose place the provider accepted this one: it is not in this one.
// The ledger is told before, so that it is swept if that cluster is ever registered again.
func (o *observation) moveFrom(before string) {
	if !orphaned(o.release) {
		o.replaced = orphans.Entry{
			Cluster: clusterKey(o.release), ClusterID: before, Holder: holderOf(o.release), Objects: o.leftBehind(), At: o.Now,
			Why: "the provider accepted another cluster in its place",
		}
	}
	o.Inventory = apply.Inventory{}
	o.status.InputsHash, o.status.Applying, o.status.Revision = "", "", ""
	o.status.Helm = nil
}
