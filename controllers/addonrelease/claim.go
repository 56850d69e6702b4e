package addonrelease

import (
	"context"
	"fmt"

	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// follow makes the watches of the cluster show what the release has there already. It returns the kinds that the
// cluster does not serve.
func (r *Reconciler) follow(ctx context.Context, o observation, cluster *fleet.Cluster) (unserved apply.Kinds, err error) {
	if err := r.room.Restore(ctx, target.ClusterKey(o.release), cluster); err != nil {
		return nil, err
	}
	if _, recorded := helm.RecordKey(o.status.Helm); recorded {
		if err := cluster.Watch(ctx, helm.SecretKind); err != nil {
			return nil, fmt.Errorf("watch the Helm release's record: %w", err)
		}
	}
	return o.objects().Follow(ctx, cluster)
}

// commit comes between the plan and its application: what the release is about to forget is recorded, and what is
// about to be applied becomes the release's own.
func (r *Reconciler) commit(ctx context.Context, o observation, cluster *fleet.Cluster) error {
	if err := r.room.Record(ctx, o.release, o.replaced); err != nil {
		return err
	}
	if cluster == nil || !o.DesiredKnown {
		return nil
	}
	if o.helm.Chart != nil {
		if err := apply.ClaimOne(cluster.Tracker, r.room.Owner(o.release), helm.ReleaseKey(o.helm.Chart.Release)); err != nil {
			return err
		}
	}
	return o.objects().Claim(cluster.Tracker, r.room.Owner(o.release))
}
