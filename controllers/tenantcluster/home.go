package tenantcluster

import (
	"fmt"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusternamespace"
)

// home is how the namespace stands in which the Cluster of an order is. The zero value is for one in which a Cluster may be made,
// and for a TenantCluster without an order.
type home struct {
	// problem: it may be another customer's, so nothing in it is looked at.
	problem *problem
	// waits says what is awaited before a Cluster is made in it.
	waits string
}

func homeOf(state clusternamespace.State, name string) home {
	switch state {
	case clusternamespace.Absent:
		return home{waits: fmt.Sprintf("namespace %s is being made for its Cluster", name)}
	case clusternamespace.Terminating:
		return home{waits: fmt.Sprintf("namespace %s is being removed, and made anew for its Cluster then", name)}
	case clusternamespace.Foreign:
		return home{problem: &problem{tenancyv1alpha1.ReasonNamespaceConflict, fmt.Sprintf(
			"namespace %s, in which the Cluster would be made, is there and not marked as this namespace's, so it may be another customer's: the provider "+
				"removes it or, if it is this customer's, sets its label %s to the UID of this namespace", name, metav1alpha1.LabelClustersOf)}}
	}
	return home{}
}

// isLost is whether a Cluster was ordered, and its namespace may not be looked at any longer.
func (o observation) isLost() bool {
	return o.home.problem != nil && o.cluster.Status.OrderedVersion != ""
}
