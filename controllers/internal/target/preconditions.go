package target

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/connectivity"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
)

// Preconditions are what decides whether a target's cluster is worked with, and how.
type Preconditions struct {
	connectivity.Connectivity
	target metav1alpha1.Target
	// Tenant is the TenantCluster as the cache has it; nil if there is none.
	Tenant *tenancyv1alpha1.TenantCluster
	// Suspension: people, or an upgrade of the cluster, keep work off.
	Suspension suspension.Suspension
	// Requests for a try now, wherever people made them; empty if there are none.
	Requests string
}

// NewPreconditions are those of a target of which nothing but itself is known.
func NewPreconditions(target metav1alpha1.Target, now time.Time) Preconditions {
	return Preconditions{
		Connectivity: connectivity.Connectivity{Subject: target, Now: now}, target: target,
		Suspension: suspension.Of(target.GetTargetSpec().Suspend, target.GetAnnotations(), now),
	}
}

// IsAbandonable is whether a deleted target goes without removing what it applied; hasExternal is whether some of that
// stands for something outside of the cluster.
func (p Preconditions) IsAbandonable(hasExternal bool) bool {
	return isDeleted(p.target) && IsOrphaned(p.target) || p.Connectivity.IsAbandonable(hasExternal)
}

// IsLeft is whether the target goes, and all of it stays in a cluster that does not answer.
func (p Preconditions) IsLeft() bool { return !IsOrphaned(p.target) && p.Connectivity.IsLeft() }

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
