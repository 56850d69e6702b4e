package apply

import (
	"context"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// isGone is the health of an object that somebody deleted, and that is left so.
var isGone = tracker.Health{Status: status.NotFoundStatus, Message: "is not there"}

// NotSeenYet is the health of an object with a status that no watch has shown since it was applied.
var NotSeenYet = tracker.Health{Status: status.InProgressStatus, Message: "applied, and not seen by the watch yet"}

// Health looks at the inventory as it is now. What has no status is fine as soon as it was applied.
func (o Observation) Health(ctx context.Context, cluster *fleet.Cluster) map[objects.Key]tracker.Health {
	health := make(map[objects.Key]tracker.Health, len(o.Inventory))
	for key, e := range o.Inventory {
		if _, unknown := o.Unknown[key.GroupKind]; unknown || e.Unwatched() {
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
				health[key] = NotSeenYet
			}
		}
	}
	return health
}
