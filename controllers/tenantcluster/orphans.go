package tenantcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
)

// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=orphanrecords,verbs=get;list;watch

// orphansShown is how many OrphanRecords a condition tells of.
const orphansShown = 3

// observeOrphans lists the OrphanRecords of a cluster, the oldest first: those of its name, as a TenantCluster of that name
// may have had another cluster, and those of its identity, as the cluster may have had another name. They are the cache's
// own.
func (r *reconciler) observeOrphans(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster) ([]tenancyv1alpha1.OrphanRecord, error) {
	records := &tenancyv1alpha1.OrphanRecordList{}
	if err := r.client.List(ctx, records, client.InNamespace(cluster.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list OrphanRecords: %w", err)
	}
	var found []tenancyv1alpha1.OrphanRecord
	for i := range records.Items {
		left := &records.Items[i].Spec
		if left.ClusterName == cluster.Name || left.ClusterID != "" && left.ClusterID == cluster.Status.ClusterID {
			found = append(found, records.Items[i])
		}
	}
	slices.SortFunc(found, orphans.ByAge)
	return found, nil
}

// toClustersOfOrphans wakes the TenantClusters that an OrphanRecord is about.
func (r *reconciler) toClustersOfOrphans(ctx context.Context, object client.Object) []reconcile.Request {
	left := &object.(*tenancyv1alpha1.OrphanRecord).Spec
	requests := []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: left.ClusterName}}}
	if left.ClusterID != "" {
		requests = append(requests, r.find(ctx, client.InNamespace(object.GetNamespace()), client.MatchingFields{indexClusterID: left.ClusterID})...)
	}
	return requests
}

// reportOrphans tells of what may remain of the cluster, until somebody has dealt with it.
func reportOrphans(w *writer, o observation) {
	if len(o.orphans) == 0 {
		w.Remove(tenancyv1alpha1.ConditionOrphansRecorded)
		return
	}
	w.Set(tenancyv1alpha1.ConditionOrphansRecorded, metav1.ConditionTrue, tenancyv1alpha1.ReasonOrphansRecorded, orphansMessage(o.orphans))
}

// orphansMessage says what to do before it names records, as long messages are cut.
func orphansMessage(records []tenancyv1alpha1.OrphanRecord) string {
	var text strings.Builder
	fmt.Fprintf(&text, "what may remain of this cluster is in %d OrphanRecords of this namespace: deal with it, then delete them", len(records))
	for i := range records[:min(len(records), orphansShown)] {
		left := &records[i].Spec
		fmt.Fprintf(&text, "; %s: %s %s/%s: %s", records[i].Name, left.Owner.Kind, left.Owner.Namespace, left.Owner.Name, left.Message)
	}
	if more := len(records) - orphansShown; more > 0 {
		fmt.Fprintf(&text, "; and %d more", more)
	}
	return text.String()
}

// ownedBy is a TenantCluster as the owner of what remains.
func ownedBy(cluster *tenancyv1alpha1.TenantCluster) tenancyv1alpha1.OrphanOwner {
	return tenancyv1alpha1.OrphanOwner{
		Group: tenancyv1alpha1.GroupVersion.Group, Kind: tenantClusterKind, Namespace: cluster.Namespace, Name: cluster.Name,
	}
}

const tenantClusterKind = "TenantCluster"
