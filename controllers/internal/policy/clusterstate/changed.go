package clusterstate

import (
	"maps"

	"k8s.io/utils/ptr"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Changed is whether something changed that decides about selection and rollouts.
func Changed(before, after *tenancyv1alpha1.TenantCluster) bool {
	return !maps.Equal(before.Labels, after.Labels) || viewOf(before) != viewOf(after)
}

// ChangedByPeople is whether nothing else changed of that than what people write as often as they like: labels and suspensions.
func ChangedByPeople(before, after *tenancyv1alpha1.TenantCluster) bool {
	was, is := viewOf(before), viewOf(after)
	was.suspend, was.suspendUntil, was.heldUntil = is.suspend, is.suspendUntil, is.heldUntil
	return was == is
}

type view struct {
	connected    bool
	unusable     string
	version      string
	suspend      bool
	suspendUntil string
	heldUntil    string
	deleting     bool
	keepsTargets bool
	upgrading    bool
	windows      int
	window       tenancyv1alpha1.Span
}

func viewOf(cluster *tenancyv1alpha1.TenantCluster) view {
	return view{
		connected: IsConnected(cluster), unusable: WhyUnusable(cluster), version: minorVersion(cluster.Status.Version),
		suspend: cluster.Spec.Suspend, suspendUntil: cluster.Annotations[metav1alpha1.AnnotationSuspendUntil],
		heldUntil: cluster.Annotations[metav1alpha1.AnnotationProviderSuspendUntil],
		deleting:  !cluster.DeletionTimestamp.IsZero(), keepsTargets: cluster.KeepsTargets(), upgrading: cluster.Status.Upgrade != nil,
		windows: len(cluster.Spec.MaintenanceWindows),
		window:  ptr.Deref(cluster.Status.MaintenanceWindow, tenancyv1alpha1.Span{}),
	}
}
