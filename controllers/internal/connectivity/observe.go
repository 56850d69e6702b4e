package connectivity

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

// Observe finds a cluster and its TenantCluster. Each is nil if there is none, the cluster also if it cannot be worked with.
func (c *Connectivity) Observe(
	ctx context.Context, cache client.Reader, connections *fleet.Fleet, key types.NamespacedName,
) (*tenancyv1alpha1.TenantCluster, *fleet.Cluster, error) {
	tenant := &tenancyv1alpha1.TenantCluster{}
	if err := cache.Get(ctx, key, tenant); apierrors.IsNotFound(err) {
		c.Unreachable, c.Unusable = fmt.Sprintf("TenantCluster %s does not exist", key), true
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, fmt.Errorf("get TenantCluster %s: %w", key, err)
	}
	c.ClusterDeletion = ClusterDeletionOf(tenant, c.Subject)
	cluster, connected := connections.Get(key)
	if !connected {
		state, known := connections.State(key)
		c.NotConnected(tenant, state, known)
		return tenant, nil, nil
	}
	c.ClusterID = cluster.ID
	return tenant, cluster, nil
}
