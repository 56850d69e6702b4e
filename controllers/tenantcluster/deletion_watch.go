package tenantcluster

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
)

// clusterDeletions are the events of objects that begin to remove what they have in their clusters, or work there no longer.
func clusterDeletions() targets.Events {
	return targets.Events{
		Updated: func(before, after targets.Member) bool {
			return !before.RemovedSince.Equal(after.RemovedSince) || !slices.Equal(before.Clusters, after.Clusters)
		},
		Deleted: true,
	}
}

// toClusterThatWaitsForGuard wakes a TenantCluster whose deletion may wait for the withdrawal guard of a policy.
func (r *reconciler) toClusterThatWaitsForGuard(ctx context.Context, key types.NamespacedName) []reconcile.Request {
	cluster := &tenancyv1alpha1.TenantCluster{}
	if err := r.client.Get(ctx, key, cluster, client.UnsafeDisableDeepCopy); err != nil || cluster.DeletionTimestamp.IsZero() {
		return nil // It is gone, or its own deletion brings it up.
	}
	return toCluster(ctx, key)
}
