package clusterstate

import (
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// maxUnusable bounds in bytes what is kept of why one cluster cannot be worked with.
const maxUnusable = 512

// WhyUnusable says why a cluster is not connected, unless it is, or does not answer.
func WhyUnusable(cluster *tenancyv1alpha1.TenantCluster) string {
	if !cluster.IsUnusable() {
		return ""
	}
	return truncate.Cut(cluster.Obstacle().Message, maxUnusable)
}
