package addonrelease

import (
	"context"

	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// foreignObjects are what the records of others declare that came after our last one: the one that is
// deployed, and those of operations that did not end.
func (r *recorder) foreignObjects() ([]objects.Ref, error) {
	var refs []objects.Ref
	for _, entry := range r.o.history.Foreign() {
		record, err := r.store.Read(entry.Version)
		if err != nil {
			return nil, err
		}
		if record != nil {
			refs = append(refs, helm.Objects(record.Manifest)...)
		}
	}
	return refs, nil
}

// strays are the objects that somebody else's latest record brought and the chart does not declare.
// The cluster tells which of them carry the release's marks: others are not touched.
func (r *Reconciler) strays(ctx context.Context, o observed, recorder *recorder, cluster chartCluster) ([]removal, error) {
	refs, err := recorder.foreignObjects()
	if err != nil {
		return nil, err
	}
	declaredHere := map[objects.Key]bool{}
	for _, d := range o.desired {
		declaredHere[d.Key()] = true
	}
	var found []removal
	for _, ref := range refs {
		resource, err := cluster.Resource(ctx, ref.GroupVersionKind)
		if err != nil {
			continue // A kind that is not served has no objects.
		}
		if resource.Namespaced && ref.Namespace == "" {
			ref.Namespace = o.chart.release.Namespace
		}
		if _, listed := o.inventory[ref.Key()]; listed || declaredHere[ref.Key()] {
			continue
		}
		object, err := cluster.Get(ctx, ref)
		if ignoreGone(err) != nil {
			return nil, err
		}
		if err == nil && o.chart.release.Owns(object) && ref.GroupKind() != objects.ClaimKind {
			found = append(found, removal{entry: entry{Ref: ref, uid: object.UID}})
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return found, cluster.Confirm(ctx) // They are deleted by the UIDs that were just read.
}
