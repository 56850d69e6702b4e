package target

import (
	"context"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Look asks what the watches show by now. The inventory is as it is after the plan was carried out. Without a cluster,
// they show nothing.
func (o Observation) Look(ctx context.Context, done apply.Result, cluster *fleet.Cluster) Shown {
	if cluster == nil {
		return Shown{}
	}
	health := o.Health(ctx, cluster)
	return Shown{
		Health: health, tolerated: tolerated(o.Inventory, cluster),
		lookAt: o.LookAtUnseen(done, cluster.Tracker, health),
	}
}
