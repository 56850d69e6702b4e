package connectivity

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

// Subject is an object that works in a cluster, or something that is removed there as if it were one.
type Subject interface {
	GetAnnotations() map[string]string
	// GetDeletionTimestamp is when what the subject has in the cluster began to go; nil if it stays.
	GetDeletionTimestamp() *metav1.Time
}

// Connectivity is whether a cluster can be worked with for a subject.
type Connectivity struct {
	Subject Subject
	Now     time.Time
	// Unreachable says why the cluster cannot be worked with; empty if it can.
	Unreachable string
	// Unusable: that is for another reason than that the cluster does not answer.
	Unusable bool
	// Pending: the cluster is expected to answer any moment, as after a start of the manager. Until it
	// does, or is found unreachable, what was known before stands.
	Pending bool
	// ClusterID is the identity of the connected cluster; empty if there is none.
	ClusterID types.UID
	// ClusterDeletion is what is known of the deletion of the TenantCluster; nil if it stays.
	ClusterDeletion *ClusterDeletion
}

// UnreachableReason is the reason of conditions that Unreachable is the message of.
func (c Connectivity) UnreachableReason() string {
	if c.Unusable {
		return metav1alpha1.ReasonClusterUnusable
	}
	return metav1alpha1.ReasonClusterUnreachable
}

func (c Connectivity) isDeleted() bool { return !c.Subject.GetDeletionTimestamp().IsZero() }

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

// NotConnected tells a cluster that does not answer from one that was not asked yet. State is that of its connection, if
// one is known. A deleted object is given up for what is found out now, and not for what was true before the manager
// started.
func (c *Connectivity) NotConnected(tenant *tenancyv1alpha1.TenantCluster, state fleet.State, known bool) {
	if c.isDeleted() && attemptOf(state, known) == underWay && !isHopeless(tenant) {
		c.Pending = true
		return
	}
	c.Unreachable, c.Unusable = WhyUnreachable(tenant), tenant.IsUnusable()
	c.Pending = c.Unreachable == ""
}

// isHopeless is whether a person has to do something before a connection comes of it.
func isHopeless(tenant *tenancyv1alpha1.TenantCluster) bool {
	connected := meta.FindStatusCondition(tenant.Status.Conditions, tenancyv1alpha1.ConditionConnected)
	return meta.IsStatusConditionTrue(tenant.Status.Conditions, tenancyv1alpha1.ConditionIdentityConflict) ||
		meta.IsStatusConditionFalse(tenant.Status.Conditions, tenancyv1alpha1.ConditionKubeconfigValid) ||
		connected != nil && connected.Reason == tenancyv1alpha1.ReasonNoAccess
}

// WhyUnreachable reads why a cluster cannot be worked with from the TenantCluster; empty if that is connected as far as it says.
func WhyUnreachable(tenant *tenancyv1alpha1.TenantCluster) string {
	if obstacle := tenant.Obstacle(); obstacle != nil {
		return fmt.Sprintf("TenantCluster %s/%s: %s", tenant.Namespace, tenant.Name, obstacle.Message)
	}
	if meta.IsStatusConditionTrue(tenant.Status.Conditions, tenancyv1alpha1.ConditionConnected) {
		return ""
	}
	return fmt.Sprintf("TenantCluster %s/%s is not connected yet", tenant.Namespace, tenant.Name)
}
