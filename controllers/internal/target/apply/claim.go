package apply

import (
	"fmt"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Claim makes the desired objects that no other target holds the owner's. One that is suspended claims nothing that it
// would not write: others may.
func (o Observation) Claim(tracker *tracker.Tracker, owner tracker.Owner) error {
	for _, d := range o.Desired {
		if _, taken := o.Owners[d.Key()]; taken {
			continue
		}
		_, listed := o.Inventory[d.Key()]
		if !listed && o.Suspended {
			continue
		}
		if !listed {
			if err := ClaimOne(tracker, owner, d.Key()); err != nil {
				return err
			}
		}
		tracker.Tolerate(d.Key(), o.Settings.Tolerance(o.RulesVersion, d.Ref, d.Environment))
	}
	return nil
}

// ClaimOne makes an object the owner's. It fails if another target was faster; the next plan knows of that one.
func ClaimOne(tracker *tracker.Tracker, owner tracker.Owner, key objects.Key) error {
	if holder, ok := tracker.Claim(owner, key); !ok {
		return fmt.Errorf("%s was just claimed by %s %s; it is planned again", key, holder.Kind, holder.NamespacedName)
	}
	return nil
}
