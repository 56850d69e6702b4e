package target

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
)

// Observe finds the cluster of a target, or why there is none to work with. It returns nil then.
func (r *Reconciler[T, S, M]) Observe(ctx context.Context, p *Preconditions) (*fleet.Cluster, error) {
	key := ClusterKey(p.target)
	tenant := &tenancyv1alpha1.TenantCluster{}
	if err := r.Client.Get(ctx, key, tenant); apierrors.IsNotFound(err) {
		p.Unreachable = fmt.Sprintf("TenantCluster %s does not exist", key)
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("get TenantCluster %s: %w", key, err)
	}
	p.Requests = requestsOf(p.target, tenant)
	p.Suspension = p.Suspension.Or(suspension.Of(tenant.Spec.Suspend, tenant.Annotations, p.now)).Or(upgradeOf(tenant))
	p.ClusterDeletion = ClusterDeletionOf(tenant, p.target)
	cluster, connected := r.Fleet.Get(key)
	if !connected {
		state, known := r.Fleet.State(key)
		p.NotConnected(tenant, state, known)
		return nil, nil
	}
	p.ClusterID = cluster.ID
	return cluster, nil
}
