package target

import (
	"slices"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/tombstones"
)

// RestoreObjects tells the tracker of a cluster which objects an inventory lists there, what others may set of them, and which were
// removed. An inventory that cannot be read claims nothing: the reconcile of its target says why.
func RestoreObjects(tracked *tracker.Tracker, owner tracker.Owner, status *metav1alpha1.ObjectsStatus, rules managedfields.Rules, drift metav1alpha1.DriftPolicy) {
	stored, err := apply.ReadInventory(status.Inventory)
	if err != nil {
		return
	}
	tracked.SetRemoved(owner, tombstones.UIDs(status.Removed))
	settings, version := SettingsOf(drift), RulesVersion(rules, drift)
	for key, e := range stored {
		tracked.Keep(owner, key, tracker.Expectation{UID: e.UID, Fingerprint: e.Fingerprint})
		tracked.Tolerate(key, settings.Tolerance(version, e.Ref, e.Environment))
	}
}

// Retain ends the claims on what a target has nothing to do with any more, apart from what its kind keeps beside its
// objects; keeps is nil if that is nothing. A status says so that was written: otherwise the next reconcile goes on from an older one, and a watch does not
// show once more what it showed before.
func (r *Reconciler[T, S, M]) Retain(cluster *fleet.Cluster, target T, o Observation, keeps func(objects.Key) bool) {
	lists := o.Lists()
	cluster.Tracker.Retain(r.Owner(target), func(key objects.Key) bool { return lists(key) || keeps != nil && keeps(key) })
}

// Lists tells whether the inventory lists an object, or the target declares it or waits for it.
func (o Observation) Lists() func(objects.Key) bool {
	declared := map[objects.Key]bool{}
	for _, d := range o.Desired {
		declared[d.Key()] = true
	}
	return func(key objects.Key) bool {
		_, listed := o.Inventory[key]
		return listed || declared[key] || slices.Contains(o.AwaitedKeys, key)
	}
}
