package addonrelease

import (
	"context"
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

func departureOf(tenant *tenancyv1alpha1.TenantCluster) *departure {
	if !tenant.TakesClusterAlong() {
		return nil
	}
	return &departure{deadline: tenant.DeletionDeadline()}
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
	if kind.Group == "gateway.networking.k8s.io" {
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
	return r.recordOrphans(ctx, o, holderOf(o.release)+" (kept)", kept, "they are kept when the add-on ends")
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
