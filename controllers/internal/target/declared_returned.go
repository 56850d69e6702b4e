package target

import (
	"context"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/tombstones"
)

// observeReturned takes objects into the inventory that were removed and are back, so that they are removed as all that is not
// declared.
func (o *Observation) observeReturned(ctx context.Context, cluster *fleet.Cluster, removed []metav1alpha1.RemovedObject) error {
	var err error
	if o.Returned, err = tombstones.Follow(ctx, cluster, cluster.Tracker, removed, o.Inventory); err != nil {
		return err
	}
	for _, e := range o.Returned {
		if _, listed := o.Inventory[e.Key()]; !listed {
			o.Inventory[e.Key()] = e
		}
	}
	return nil
}
