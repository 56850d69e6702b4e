package tenantcluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
)

// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=orphanrecords,verbs=get;list;watch

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
	w.Set(tenancyv1alpha1.ConditionOrphansRecorded, metav1.ConditionTrue, tenancyv1alpha1.ReasonOrphansRecorded, orphans.Message(o.orphans))
}

// ownedBy is a TenantCluster as the owner of what remains.
func ownedBy(cluster *tenancyv1alpha1.TenantCluster) tenancyv1alpha1.OrphanOwner {
	return tenancyv1alpha1.OrphanOwner{
		Group: tenancyv1alpha1.GroupVersion.Group, Kind: tenantClusterKind, Namespace: cluster.Namespace, Name: cluster.Name,
	}
}

const tenantClusterKind = "TenantCluster"
