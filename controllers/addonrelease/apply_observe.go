package addonrelease

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// kinds of objects.
type kinds map[schema.GroupVersionKind]bool

// follow starts the watches for the objects in the inventory, and tells the tracker what others may set of them. It
// returns the kinds that the cluster does not serve.
func (o objectsObservation) follow(ctx context.Context, cluster *fleet.Cluster) (unserved kinds, err error) {
	watched := kinds{}
	unserved = kinds{}
	for key, e := range o.inventory {
		if kind := e.GroupVersionKind; !watched[kind] && !unserved[kind] {
			if err := cluster.Watch(ctx, kind); meta.IsNoMatchError(err) {
				unserved[kind] = true
			} else if err != nil {
				return nil, err
			}
			watched[kind] = true
		}
		cluster.Tracker.Tolerate(key, o.settings.tolerance(o.rulesVersion, e.Ref, e.environment))
	}
	return unserved, nil
}

// observeObjects looks at what the watches saw of the inventory.
func (o *objectsObservation) observeObjects(ctx context.Context, cluster *fleet.Cluster, unserved kinds) error {
	o.sightings = make(map[objects.Key]sighting, len(o.inventory))
	var unseen []objects.Ref
	for key, e := range o.inventory {
		if unserved[e.GroupVersionKind] {
			// The kind is gone from the cluster, and its objects with it.
			o.sightings[key] = sighting{seen: &fleet.Seen{Gone: true, At: o.now}, drifted: !e.intended()}
			continue
		}
		if o.awaits(key.GroupKind, cluster.Tracker.Kind(key.GroupKind)) {
			continue
		}
		seen, drifted := cluster.Tracker.Look(key)
		// A kind that cannot be listed cannot be read either, and must not hold up the others.
		if _, unknown := o.unknown[key.GroupKind]; seen == nil && !unknown && !e.intended() && !e.unwatched() {
			unseen = append(unseen, e.Ref)
		}
		allowed := o.settings.tolerance(o.rulesVersion, e.Ref, e.environment)
		o.sightings[key] = o.reassess(sighting{seen: seen, drifted: drifted}, e, allowed)
	}
	return o.observeUnseen(ctx, cluster, unseen)
}

// awaits is whether the first list of a kind has to be awaited. One that fails holds nothing up.
func (o *objectsObservation) awaits(kind schema.GroupKind, state fleet.KindState) bool {
	if state.Unknown != "" {
		if o.unknown == nil {
			o.unknown = map[schema.GroupKind]string{}
		}
		o.unknown[kind] = state.Unknown
	}
	if state.Pending() {
		o.unlisted++
	}
	return state.Pending()
}
