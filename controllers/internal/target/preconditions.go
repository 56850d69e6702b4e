package target

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
)

// Preconditions are what decides whether a target's cluster is worked with, and how.
type Preconditions struct {
	target metav1alpha1.Target
	now    time.Time
	// Suspension: people, or an upgrade of the cluster, keep work off.
	Suspension suspension.Suspension
	// Requests for a try now, wherever people made them; empty if there are none.
	Requests string
	// Unreachable says why the cluster cannot be worked with; empty if it can.
	Unreachable string
	// Pending: the cluster is expected to answer any moment, as after a start of the manager. Until it
	// does, or is found unreachable, what was known before stands.
	Pending bool
	// ClusterID is the identity of the connected cluster; empty if there is none.
	ClusterID types.UID
	// ClusterDeletion is what is known of the deletion of the TenantCluster; nil if it stays.
	ClusterDeletion *ClusterDeletion
}

// NewPreconditions are those of a target of which nothing but itself is known.
func NewPreconditions(target metav1alpha1.Target, now time.Time) Preconditions {
	return Preconditions{
		target: target, now: now, Suspension: suspension.Of(target.GetTargetSpec().Suspend, target.GetAnnotations(), now),
	}
}

// upgradeOf holds work off while the cluster gets another version of Kubernetes.
func upgradeOf(tenant *tenancyv1alpha1.TenantCluster) suspension.Suspension {
	up := tenant.Status.Upgrade
	if up == nil {
		return suspension.Suspension{}
	}
	return suspension.During(fmt.Sprintf("the cluster is upgraded from %s to %s", up.From, up.To))
}

// requestsOf tells one request of a person from another, wherever they made it.
func requestsOf(target metav1alpha1.Target, tenant *tenancyv1alpha1.TenantCluster) string {
	made := []string{target.GetTargetSpec().RequestedAt, metav1alpha1.RequestedAt(target), metav1alpha1.RequestedAt(tenant)}
	return strings.Join(slices.DeleteFunc(made, func(one string) bool { return one == "" }), " ")
}
