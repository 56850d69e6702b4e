package addonrelease

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
)

// departure of a whole cluster.
type departure struct {
	// deadline until which what is outside of it may be released.
	deadline time.Time
}

// departureOf leaves a quarter of the time to the cluster itself. It counts from when the release was deleted:
// the guard against losing many clusters may have held that up.
func departureOf(tenant *tenancyv1alpha1.TenantCluster, release *addonsv1alpha1.AddonRelease) *departure {
	if !tenant.TakesClusterAlong() {
		return nil
	}
	since := tenant.DeletionTimestamp.Time
	timeout := tenant.DeletionDeadline().Sub(since)
	if deleted := release.DeletionTimestamp; deleted != nil && deleted.After(since) {
		since = deleted.Time
	}
	return &departure{deadline: since.Add(timeout * 3 / 4)}
}

// isExternal says whether an object stands for something outside of its cluster, which would outlive it.
// Of kinds that are not Kubernetes' own nobody can know, so they count.
func isExternal(object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind()
	switch kind.GroupKind().String() {
	case "Service":
		serviceType, _, _ := unstructured.NestedString(object.Object, "spec", "type")
		return serviceType == "LoadBalancer"
	case "PersistentVolumeClaim", "PersistentVolume", "Ingress.networking.k8s.io":
		return true
	case "StatefulSet.apps":
		claims, _, _ := unstructured.NestedSlice(object.Object, "spec", "volumeClaimTemplates")
		return len(claims) > 0
	}
	switch kind.Group {
	case "gateway.networking.k8s.io", "snapshot.storage.k8s.io":
		return true
	}
	return strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
}

// isFreed: a deleted release goes without removing what it applied. If the whole cluster goes, only what
// stands for something outside of it is worth the time, and not for longer than the deletion may take.
func (o observed) isFreed() bool {
	switch {
	case o.release.DeletionTimestamp.IsZero():
		return false
	case o.abandoned() || orphaned(o.release):
		return true
	}
	return o.going != nil && (len(o.external()) == 0 || !o.now.Before(o.going.deadline))
}

// departsAt is when a deleted release stops waiting for the cluster that goes with it; zero for never.
func (o observed) departsAt() time.Time {
	if o.going == nil || o.release.DeletionTimestamp.IsZero() {
		return time.Time{}
	}
	return o.going.deadline
}

// untilDeparture is how long until then, for a reconcile that has nothing else to wait for.
func (o observed) untilDeparture() time.Duration {
	if at := o.departsAt(); !at.IsZero() {
		return max(at.Sub(o.now), time.Second)
	}
	return 0
}

// external lists what stands for something outside of the cluster.
func (o observed) external() []entry {
	return slices.DeleteFunc(o.inventory.sorted(), func(e entry) bool { return !e.external })
}

func orphaned(release *addonsv1alpha1.AddonRelease) bool {
	return release.Spec.DeletionPolicy == addonsv1alpha1.DeletionPolicyOrphan
}

// recordUnremoved tells what may remain outside of a cluster that goes because it could not be removed.
func (r *Reconciler) recordUnremoved(ctx context.Context, o observed) error {
	return r.recordOrphans(ctx, o, holderOf(o.release), o.external(), whyLeft(o))
}

// recordKept tells what may remain because it was not to be removed, such as a chart's volumes.
func (r *Reconciler) recordKept(ctx context.Context, o observed, done outcome) error {
	var kept []entry
	for _, one := range done.left {
		if one.external {
			kept = append(kept, one.entry)
		}
	}
	err := r.recordOrphans(ctx, o, holderOf(o.release)+" (kept)", kept, "they are kept when the add-on ends")
	return errors.Join(err, r.recordOrphans(ctx, o, holderOf(o.release)+" (volumes)", volumesOf(done.gone), "volumes that a StatefulSet claimed stay when it goes"))
}

// volumesOf are the StatefulSets among objects that are gone. Kubernetes leaves their claims, which are not in
// the inventory.
func volumesOf(gone []entry) []entry {
	return slices.DeleteFunc(slices.Clone(gone), func(e entry) bool {
		return !e.external || e.GroupKind().String() != "StatefulSet.apps"
	})
}

func holderOf(release *addonsv1alpha1.AddonRelease) string {
	return "AddonRelease " + release.Namespace + "/" + release.Name
}

// recordOrphans writes the ledger, and then the Event, before the release forgets what it applied.
func (r *Reconciler) recordOrphans(ctx context.Context, o observed, holder string, entries []entry, why string) error {
	if o.going == nil || len(entries) == 0 {
		return nil
	}
	release := o.release
	left := orphans.Entry{
		Cluster: clusterKey(release), ClusterID: release.Status.ClusterID, Holder: holder, At: o.now, Why: why,
	}
	for _, e := range entries {
		left.Objects = append(left.Objects, e.ID())
	}
	if err := r.Orphans.Record(ctx, left); err != nil {
		return err
	}
	r.Recorder.Eventf(release, nil, eventWarning, eventOrphaned, actionDelete,
		"what %s stand for may remain outside of TenantCluster %s: %s", left, clusterKey(release), why)
	return nil
}

func whyLeft(o observed) string {
	switch {
	case orphaned(o.release):
		return "spec.deletionPolicy is Orphan"
	case o.unreachable != "":
		return "they could not be removed before the deletion was due: " + o.unreachable
	}
	return "they could not be removed before the deletion was due"
}
