package target

import (
	"context"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
)

// Observe finds the cluster of a target, or why there is none to work with. It returns nil then.
func (r *Reconciler[T, S, M]) Observe(ctx context.Context, p *Preconditions) (*fleet.Cluster, error) {
	tenant, cluster, err := p.Observe(ctx, r.Client, r.Fleet, ClusterKey(p.target))
	if err != nil || tenant == nil {
		return nil, err
	}
	p.Tenant, p.Requests = tenant, requestsOf(p.target, tenant)
	p.Suspension = p.Suspension.Or(suspension.InCluster(tenant, p.target.GetNamespace(), p.Now)).Or(upgradeOf(tenant))
	return cluster, nil
}
