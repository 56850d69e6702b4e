// Package tombstones remembers which objects of a target were removed, so that one that a snapshot of its cluster brings back is
// known, by its UID, and removed again.
package tombstones

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Most is how many removed objects of a target are remembered; the CRD says the same.
const Most = 100

// Update takes in what came of a plan: what it removed is remembered, and what it wrote, or is declared, is not. Of too many
// the oldest are forgotten.
func Update(known []metav1alpha1.RemovedObject, declared []apply.Object, done apply.Result) []metav1alpha1.RemovedObject {
	if len(done.Gone) == 0 && (len(known) == 0 || len(declared) == 0) {
		return known
	}
	ids := make(map[objects.Key]bool, len(declared))
	for _, d := range declared {
		ids[d.Key()] = true
	}
	buried := make(map[string]bool, len(done.Gone))
	var latest []metav1alpha1.RemovedObject
	for _, e := range done.Gone {
		if e.UID != "" && !buried[string(e.UID)] {
			buried[string(e.UID)] = true
			latest = append(latest, metav1alpha1.RemovedObject{ID: e.ID(), UID: string(e.UID)})
		}
	}
	kept := slices.DeleteFunc(slices.Clone(known), func(one metav1alpha1.RemovedObject) bool {
		ref, err := objects.ParseID(one.ID)
		return err != nil || ids[ref.Key()] || buried[one.UID]
	})
	kept = append(kept, latest...)
	return kept[max(0, len(kept)-Most):]
}

// UIDs are those of the removed objects.
func UIDs(removed []metav1alpha1.RemovedObject) map[objects.Key]types.UID {
	uids := make(map[objects.Key]types.UID, len(removed))
	for _, e := range entries(removed) {
		uids[e.Key()] = e.UID
	}
	return uids
}

func entries(removed []metav1alpha1.RemovedObject) []apply.Entry {
	list := make([]apply.Entry, 0, len(removed))
	for _, one := range removed {
		// Only the manager writes them. One that cannot be read is of no use.
		if ref, err := objects.ParseID(one.ID); err == nil {
			list = append(list, apply.Entry{Ref: ref, UID: types.UID(one.UID)})
		}
	}
	return list
}

// Cluster is where the objects were removed.
type Cluster interface {
	Watch(ctx context.Context, kind schema.GroupVersionKind) error
}

// Follow has the kinds of the removed objects watched, and returns which of these objects have returned: the watches show them,
// or the inventory lists them since that was so.
func Follow(
	ctx context.Context, cluster Cluster, tracked *tracker.Tracker, removed []metav1alpha1.RemovedObject, inventory apply.Inventory,
) ([]apply.Entry, error) {
	var returned []apply.Entry
	for _, e := range entries(removed) {
		if err := cluster.Watch(ctx, e.GroupVersionKind); err != nil && !meta.IsNoMatchError(err) {
			return nil, err
		}
		if inventory[e.Key()].UID == e.UID || tracked.HasReturned(e.Key(), e.UID) {
			returned = append(returned, e)
		}
	}
	return returned, nil
}

// Among returns those of the returned objects that are gone.
func Among(returned, gone []apply.Entry) []apply.Entry {
	return slices.DeleteFunc(slices.Clone(gone), func(e apply.Entry) bool {
		return !slices.ContainsFunc(returned, func(one apply.Entry) bool { return one.Key() == e.Key() && one.UID == e.UID })
	})
}
