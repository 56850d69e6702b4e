package addonrelease

import (
	"context"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// isGone is the health of an object that somebody deleted, and that is left so.
var isGone = fleet.Health{Status: status.NotFoundStatus, Message: "is not there"}

// notSeenYet is the health of an object with a status that no watch has shown since it was applied.
var notSeenYet = fleet.Health{Status: status.InProgressStatus, Message: "applied, and not seen by the watch yet"}

// health looks at the inventory as it is now. What has no status is fine as soon as it was applied.
func (o objectsObservation) health(ctx context.Context, cluster *fleet.Cluster) map[objects.Key]fleet.Health {
	health := make(map[objects.Key]fleet.Health, len(o.inventory))
	for key, e := range o.inventory {
		if _, unknown := o.unknown[key.GroupKind]; unknown || e.unwatched() {
			continue
		}
		seen, current := cluster.Tracker.Current(key)
		switch {
		case current && seen.Gone:
			health[key] = isGone
		case current:
			health[key] = seen.Health
		default:
			if resource, err := cluster.Resource(ctx, e.GroupVersionKind); err == nil && resource.HasStatus {
				health[key] = notSeenYet
			}
		}
	}
	return health
}
