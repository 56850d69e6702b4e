package addonrelease

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/brief"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// recordUnremoved tells what a release that is let go leaves: what may remain outside of a cluster that goes
// with it, and all there is in one that lives on.
func (r *Reconciler) recordUnremoved(ctx context.Context, o observation) error {
	if o.IsClusterDeleted() {
		return r.recordOrphans(ctx, o, orphans.Entry{Holder: holderOf(o.release), Objects: orphansOf(o.external()), Why: whyLeft(o)})
	}
	if o.IsLeft() {
		if err := r.enter(ctx, o, orphans.Entry{Holder: holderOf(o.release), Objects: o.leftBehind(), Why: whyLeft(o)}); err != nil {
			return err
		}
	}
	if (o.IsAbandoned() || o.IsGivenUp()) && len(o.Inventory) > 0 {
		r.Recorder.Eventf(o.release, nil, eventWarning, eventAbandoned, actionDelete, "%d objects were left in TenantCluster %s: %s: %s",
			len(o.Inventory), target.ClusterKey(o.release), brief.Cut(apply.Names(o.Inventory.Sorted()), maxNamesTold), brief.Cut(whyLeft(o), maxWhyTold))
	}
	return nil
}

// recordReplaced tells what is in a cluster that is this one no longer, before the release forgets it.
func (r *Reconciler) recordReplaced(ctx context.Context, o observation) error {
	if len(o.replaced.Objects) == 0 {
		return nil
	}
	return r.Orphans.Record(ctx, o.replaced)
}

// recordKept tells what may remain because it was not to be removed, such as a chart's volumes.
func (r *Reconciler) recordKept(ctx context.Context, o observation, done result) error {
	if !o.IsClusterDeleted() {
		return nil
	}
	var kept []apply.Entry
	for _, one := range done.Left {
		if one.External {
			kept = append(kept, one.Entry)
		}
	}
	err := r.recordOrphans(ctx, o, orphans.Entry{
		Holder: holderOf(o.release) + " (kept)", Objects: staying(orphansOf(kept)), Why: "they are kept when the add-on ends",
	})
	return errors.Join(err, r.recordOrphans(ctx, o, orphans.Entry{
		Holder: holderOf(o.release) + " (volumes)", Objects: staying(orphansOf(volumesOf(done.Gone))), Why: "volumes that a StatefulSet claimed stay when it goes",
	}))
}

// volumesOf are the StatefulSets among objects that are gone. Kubernetes leaves their claims, which are not in
// the inventory.
func volumesOf(gone []apply.Entry) []apply.Entry {
	return slices.DeleteFunc(slices.Clone(gone), func(e apply.Entry) bool {
		return !e.External || e.GroupKind().String() != "StatefulSet.apps"
	})
}

// leftBehind is what is, or may be, in the cluster because of a release: its inventory, without what was there
// before and would stay anyway, and the record of its Helm release.
func (o observation) leftBehind() []orphans.Object {
	left := orphansOf(slices.DeleteFunc(o.Inventory.Sorted(), func(e apply.Entry) bool {
		return e.Unwatched() || e.Adopted && objects.IsFoundation(e.GroupKind())
	}))
	if helm := o.status.Helm; helm != nil && helm.Record != nil {
		left = append(left, orphans.Object{ID: helm.Record.ID, UID: types.UID(helm.Record.UID)})
	}
	return left
}

func orphansOf(entries []apply.Entry) []orphans.Object {
	list := make([]orphans.Object, 0, len(entries))
	for _, e := range entries {
		list = append(list, orphans.Object{ID: e.ID(), UID: e.UID, Stays: e.Kept || e.GroupKind() == objects.ClaimKind})
	}
	return list
}

// staying marks what no sweep is to remove.
func staying(list []orphans.Object) []orphans.Object {
	for i := range list {
		list[i].Stays = true
	}
	return list
}

func holderOf(release *addonsv1alpha1.AddonRelease) string {
	return "AddonRelease " + release.Namespace + "/" + release.Name
}

// recordOrphans tells of what stands for something outside of a cluster that goes: in the ledger, and then by an
// Event, before the release forgets what it applied.
func (r *Reconciler) recordOrphans(ctx context.Context, o observation, left orphans.Entry) error {
	if len(left.Objects) == 0 {
		return nil
	}
	if err := r.enter(ctx, o, left); err != nil {
		return err
	}
	r.Recorder.Eventf(o.release, nil, eventWarning, eventOrphaned, actionDelete,
		"what %s stand for may remain outside of TenantCluster %s: %s", left, target.ClusterKey(o.release), brief.Cut(left.Why, maxWhyTold))
	return nil
}

// enter writes an entry into the ledger, if there is anything in it.
func (r *Reconciler) enter(ctx context.Context, o observation, left orphans.Entry) error {
	if len(left.Objects) == 0 {
		return nil
	}
	left.Cluster, left.ClusterID, left.At = target.ClusterKey(o.release), o.status.ClusterID, o.Now
	return r.Orphans.Record(ctx, left)
}

// An Event has at most 1024 bytes.
const maxNamesTold, maxWhyTold = 400, 300

func whyLeft(o observation) string {
	switch {
	case target.IsOrphaned(o.release):
		return "spec.deletionPolicy is Orphan"
	case o.IsAbandoned():
		return "they were abandoned: " + o.Unreachable
	case o.Unreachable != "":
		return "they could not be removed before the deletion was due: " + o.Unreachable
	}
	return "they could not be removed before the deletion was due"
}
