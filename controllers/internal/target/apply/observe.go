package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Kinds of objects.
type Kinds map[schema.GroupVersionKind]bool

// Follow starts the watches for the objects in the inventory, and tells the tracker whose they are, what they should look
// like, and what others may set of them. It returns the kinds that the cluster does not serve.
func (o Observation) Follow(ctx context.Context, cluster *fleet.Cluster, owner tracker.Owner) (unserved Kinds, err error) {
	watched := Kinds{}
	unserved = Kinds{}
	for key, e := range o.Inventory {
		if kind := e.GroupVersionKind; !watched[kind] && !unserved[kind] {
			if err := cluster.Watch(ctx, kind); meta.IsNoMatchError(err) {
				unserved[kind] = true
			} else if err != nil {
				return nil, err
			}
			watched[kind] = true
		}
		cluster.Tracker.Keep(owner, key, tracker.Expectation{UID: e.UID, Fingerprint: e.Fingerprint})
		cluster.Tracker.Tolerate(key, o.Settings.Tolerance(o.RulesVersion, e.Ref, e.Environment))
	}
	return unserved, nil
}

// ObserveObjects looks at what the watches saw of the inventory.
func (o *Observation) ObserveObjects(ctx context.Context, cluster *fleet.Cluster, unserved Kinds) error {
	o.States = make(map[objects.Key]ObjectState, len(o.Inventory))
	var unseen []objects.Ref
	for key, e := range o.Inventory {
		if unserved[e.GroupVersionKind] {
			// The kind is gone from the cluster, and its objects with it.
			o.States[key] = ObjectState{Seen: &tracker.Seen{Gone: true, At: o.Now}, Drifted: !e.Intended()}
			continue
		}
		if o.Awaits(key.GroupKind, cluster.Tracker.Kind(key.GroupKind)) {
			continue
		}
		seen, drifted := cluster.Tracker.Look(key)
		// A kind that cannot be listed cannot be read either, and must not hold up the others.
		if _, unknown := o.Unknown[key.GroupKind]; seen == nil && !unknown && !e.Intended() && !e.Unwatched() {
			unseen = append(unseen, e.Ref)
		}
		allowed := o.Settings.Tolerance(o.RulesVersion, e.Ref, e.Environment)
		o.States[key] = o.Reassess(ObjectState{Seen: seen, Drifted: drifted}, e, allowed)
	}
	return o.observeUnseen(ctx, cluster, unseen)
}

// Awaits is whether the first list of a kind has to be awaited. One that fails holds nothing up.
func (o *Observation) Awaits(kind schema.GroupKind, state tracker.KindState) bool {
	if state.Unknown != "" {
		if o.Unknown == nil {
			o.Unknown = map[schema.GroupKind]string{}
		}
		o.Unknown[kind] = state.Unknown
	}
	if state.Pending() {
		o.Unlisted++
	}
	return state.Pending()
}
