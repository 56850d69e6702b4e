package addonrelease

import (
	"context"
	"errors"
	"slices"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
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
		return r.recordOrphans(ctx, o, o.whyLeft(orphansOf(o.External())))
	}
	if o.IsLeft() {
		if err := r.record(ctx, o, o.whyLeft(o.leftBehind())); err != nil {
			return err
		}
	}
	if (o.IsAbandoned() || o.IsGivenUp()) && len(o.Inventory) > 0 {
		r.Recorder.Eventf(o.release, nil, eventWarning, eventAbandoned, actionDelete, "%d objects were left in TenantCluster %s: %s: %s",
			len(o.Inventory), target.ClusterKey(o.release), brief.Cut(apply.Names(o.Inventory.Sorted()), maxNamesTold), brief.Cut(o.whyLeft(nil).Message, maxWhyTold))
	}
	return nil
}

// recordReplaced tells what is in a cluster that is this one no longer, before the release forgets it.
func (r *Reconciler) recordReplaced(ctx context.Context, o observation) error {
	if len(o.replaced.Objects) == 0 {
		return nil
	}
	return r.Orphans.Write(ctx, target.ClusterKey(o.release).Namespace, o.replaced)
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
	err := r.recordOrphans(ctx, o, tenancyv1alpha1.OrphanRecordSpec{
		Objects: staying(orphansOf(kept)), Reason: tenancyv1alpha1.OrphanKept, Message: "they are kept when the add-on ends",
	})
	return errors.Join(err, r.recordOrphans(ctx, o, tenancyv1alpha1.OrphanRecordSpec{
		Objects: staying(orphansOf(volumesOf(done.Gone))), Reason: tenancyv1alpha1.OrphanVolumes, Message: "volumes that a StatefulSet claimed stay when it goes",
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
func (o observation) leftBehind() []tenancyv1alpha1.OrphanObject {
	left := orphansOf(slices.DeleteFunc(o.Inventory.Sorted(), func(e apply.Entry) bool {
		return e.Unwatched() || e.Adopted && objects.IsFoundation(e.GroupKind())
	}))
	if helm := o.status.Helm; helm != nil && helm.Record != nil {
		left = append(left, tenancyv1alpha1.OrphanObject{ID: helm.Record.ID, UID: helm.Record.UID})
	}
	return left
}

func orphansOf(entries []apply.Entry) []tenancyv1alpha1.OrphanObject {
	list := make([]tenancyv1alpha1.OrphanObject, 0, len(entries))
	for _, e := range entries {
		list = append(list, tenancyv1alpha1.OrphanObject{ID: e.ID(), UID: string(e.UID), Keep: e.Kept || e.GroupKind() == objects.ClaimKind})
	}
	return list
}

// staying marks what no sweep is to remove.
func staying(list []tenancyv1alpha1.OrphanObject) []tenancyv1alpha1.OrphanObject {
	for i := range list {
		list[i].Keep = true
	}
	return list
}

func ownedBy(release *addonsv1alpha1.AddonRelease) tenancyv1alpha1.OrphanOwner {
	return tenancyv1alpha1.OrphanOwner{
		Group: addonsv1alpha1.GroupVersion.Group, Kind: ownerKind, Namespace: release.Namespace, Name: release.Name,
		Policy: release.Labels[metav1alpha1.LabelPolicy],
	}
}

// recordOrphans tells of what stands for something outside of a cluster that goes: in an OrphanRecord, and then by an
// Event, before the release forgets what it applied.
func (r *Reconciler) recordOrphans(ctx context.Context, o observation, left tenancyv1alpha1.OrphanRecordSpec) error {
	if len(left.Objects) == 0 {
		return nil
	}
	if err := r.record(ctx, o, left); err != nil {
		return err
	}
	r.Recorder.Eventf(o.release, nil, eventWarning, eventOrphaned, actionDelete,
		"what %s stand for may remain outside of TenantCluster %s: %s", orphans.Describe(left), target.ClusterKey(o.release), brief.Cut(left.Message, maxWhyTold))
	return nil
}

// record writes an OrphanRecord, if there is anything in it.
func (r *Reconciler) record(ctx context.Context, o observation, left tenancyv1alpha1.OrphanRecordSpec) error {
	if len(left.Objects) == 0 {
		return nil
	}
	cluster := target.ClusterKey(o.release)
	left.ClusterName, left.ClusterID, left.Owner = cluster.Name, o.status.ClusterID, ownedBy(o.release)
	return r.Orphans.Write(ctx, cluster.Namespace, left)
}

// An Event has at most 1024 bytes.
const maxNamesTold, maxWhyTold = 400, 300

// whyLeft gives objects that are left the reason.
func (o observation) whyLeft(objects []tenancyv1alpha1.OrphanObject) tenancyv1alpha1.OrphanRecordSpec {
	left := tenancyv1alpha1.OrphanRecordSpec{Objects: objects}
	switch {
	case target.IsOrphaned(o.release):
		left.Reason, left.Message = tenancyv1alpha1.OrphanLeft, "spec.deletionPolicy is Orphan"
	case o.IsAbandoned():
		left.Reason, left.Message = tenancyv1alpha1.OrphanAbandoned, "they were abandoned: "+o.Unreachable
	case o.Unreachable != "":
		left.Reason, left.Message = tenancyv1alpha1.OrphanUnreachable, "they could not be removed before the deletion was due: "+o.Unreachable
	default:
		left.Reason, left.Message = tenancyv1alpha1.OrphanTimedOut, "they could not be removed before the deletion was due"
	}
	return left
}
