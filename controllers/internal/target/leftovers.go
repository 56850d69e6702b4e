package target

import (
	"slices"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Leftovers are what is in a cluster because of a target. When the target ends or gets another cluster, what it does not
// remove is recorded.
type Leftovers struct {
	// ClusterID is the identity of the cluster that they are in.
	ClusterID string
	// Inventory of the target there.
	Inventory apply.Inventory
	// More are what its kind keeps there beside the inventory.
	More []tenancyv1alpha1.OrphanObject
}

// list is what is, or may be, in the cluster, without what was there before the target and would stay anyway.
func (l Leftovers) list() []tenancyv1alpha1.OrphanObject {
	return append(orphansOf(slices.DeleteFunc(l.Inventory.Sorted(), func(e apply.Entry) bool {
		return e.Unwatched() || e.Adopted && objects.IsPrerequisite(e.GroupKind())
	})), l.More...)
}

// Replaced is the record of what is in a cluster that is not the target's any longer, since the provider accepted another
// one in its place: it is swept if the cluster is ever registered again. It has no objects where there is nothing to sweep.
func (o Observation) Replaced(l Leftovers) tenancyv1alpha1.OrphanRecordSpec {
	if IsOrphaned(o.target) {
		return tenancyv1alpha1.OrphanRecordSpec{}
	}
	return tenancyv1alpha1.OrphanRecordSpec{
		ClusterID: l.ClusterID, Objects: l.list(),
		Reason: tenancyv1alpha1.OrphanReplaced, Message: "the provider accepted another cluster in its place",
	}
}

// unremoved is the record of what a target that ends leaves in a cluster that lives on, or outside of one that goes with it.
func (o Observation) unremoved(clusterID string, list []tenancyv1alpha1.OrphanObject) tenancyv1alpha1.OrphanRecordSpec {
	left := tenancyv1alpha1.OrphanRecordSpec{ClusterID: clusterID, Objects: list}
	switch {
	case IsOrphaned(o.target):
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

// kept are the records of what may remain because it was not to be removed, such as a chart's volumes.
func kept(clusterID string, done apply.Result) []tenancyv1alpha1.OrphanRecordSpec {
	var marked []apply.Entry
	for _, one := range done.Left {
		if one.External {
			marked = append(marked, one.Entry)
		}
	}
	return []tenancyv1alpha1.OrphanRecordSpec{
		{
			ClusterID: clusterID, Objects: staying(orphansOf(marked)),
			Reason: tenancyv1alpha1.OrphanKept, Message: "they are kept when the add-on ends",
		},
		{
			ClusterID: clusterID, Objects: staying(orphansOf(volumesOf(done.Gone))),
			Reason: tenancyv1alpha1.OrphanVolumes, Message: "volumes that a StatefulSet claimed stay when it goes",
		},
	}
}

// volumesOf are the StatefulSets among objects that are gone. Kubernetes leaves their claims, which are not in
// the inventory.
func volumesOf(gone []apply.Entry) []apply.Entry {
	return slices.DeleteFunc(slices.Clone(gone), func(e apply.Entry) bool {
		return !e.External || e.GroupKind().String() != "StatefulSet.apps"
	})
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
