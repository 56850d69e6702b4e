package tenantcluster

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// departures passes targets that begin to go, or are gone.
func departures() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetDeletionTimestamp() == nil && e.ObjectNew.GetDeletionTimestamp() != nil
		},
	}
}

// guardChanged passes add-ons whose withdrawal guard began to hold targets back, or ceased to.
func guardChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return guards(e.ObjectOld.(*addonsv1alpha1.SaaSAddon)) != guards(e.ObjectNew.(*addonsv1alpha1.SaaSAddon))
		},
	}
}

// toClustersThatWaitForGuard wakes the TenantClusters whose deletion may wait for an add-on's withdrawal guard.
func (r *reconciler) toClustersThatWaitForGuard(ctx context.Context, addon client.Object) []reconcile.Request {
	releases := &addonsv1alpha1.AddonReleaseList{}
	err := r.client.List(ctx, releases, client.InNamespace(addon.GetNamespace()),
		client.MatchingLabels{metav1alpha1.LabelPolicy: addon.GetName()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		logf.FromContext(ctx).Error(err, "TenantClusters that wait for a withdrawal guard cannot be found", "object", client.ObjectKeyFromObject(addon).String())
		return nil
	}
	var requests []reconcile.Request
	for i := range releases.Items {
		cluster := &tenancyv1alpha1.TenantCluster{}
		err := r.client.Get(ctx, client.ObjectKey(releases.Items[i].Spec.ClusterRef), cluster, client.UnsafeDisableDeepCopy)
		if err == nil && !cluster.DeletionTimestamp.IsZero() {
			requests = append(requests, toClusterOfTarget(ctx, &releases.Items[i])...)
		}
	}
	return requests
}
