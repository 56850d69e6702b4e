package target

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
)

// Kind is what is particular to a kind of target T, whose status is an S. M is what the kind remembers of a target.
// Objects that it is given belong to the cache, apart from that of Work.
type Kind[T metav1alpha1.Target, S, M any] interface {
	// Name of the kind, as in "AddonRelease".
	Name() string
	// New returns an empty target, NewList an empty list of targets.
	New() T
	NewList() client.ObjectList
	// Status is where a target keeps its status; CopyStatus writes a deep copy of a status over another one.
	Status(target T) *S
	CopyStatus(to, from *S)
	// Restore tells the tracker of a cluster what a target has there, by its status, which speaks of that cluster.
	Restore(tracker *tracker.Tracker, target T)
	// Work observes, plans, applies and reports. The target is a copy, with everything that this process wrote.
	Work(ctx context.Context, target T, known *Known[T, S, M]) (reconcile.Result, error)
}

// ClusterKey names the TenantCluster of a target.
func ClusterKey(target metav1alpha1.Target) types.NamespacedName {
	ref := target.GetTargetSpec().ClusterRef
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// IsOrphaned is whether what a target has in its cluster stays there when the target is deleted.
func IsOrphaned(target metav1alpha1.Target) bool {
	return target.GetTargetSpec().DeletionPolicy == metav1alpha1.DeletionPolicyOrphan
}

func isDeleted(target metav1alpha1.Target) bool { return !target.GetDeletionTimestamp().IsZero() }

// clone makes a deep copy.
func clone[T metav1alpha1.Target](target T) T { return target.DeepCopyObject().(T) }
