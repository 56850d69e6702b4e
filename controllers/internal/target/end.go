package target

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// An Event has at most 1024 bytes.
const maxNamesTold, maxWhyTold = 400, 300

// End removes the finalizer of a target: nothing is left to do in the cluster, or nothing will be done. What stays is
// recorded before.
func (r *Reconciler[T, S, M]) End(ctx context.Context, target T, o Observation, left Leftovers) error {
	if err := r.recordUnremoved(ctx, target, o, left); err != nil {
		return err
	}
	tracked := r.Fleet.Tracker(ClusterKey(target))
	tracked.Retain(r.Owner(target), func(objects.Key) bool { return false })
	tracked.SetRemoved(r.Owner(target), nil)
	next := clone(target)
	controllerutil.RemoveFinalizer(next, metav1alpha1.FinalizerTarget)
	patch := client.MergeFromWithOptions(target, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Client.Patch(ctx, next, patch))
}

// recordUnremoved tells what a target that ends leaves: what may remain outside of a cluster that goes with it, and all
// there is in one that lives on.
func (r *Reconciler[T, S, M]) recordUnremoved(ctx context.Context, target T, o Observation, left Leftovers) error {
	if o.IsClusterDeleted() {
		return r.recordExternal(ctx, target, o.unremoved(left.ClusterID, orphansOf(o.External())))
	}
	why := o.unremoved(left.ClusterID, left.list())
	if o.IsLeft() {
		if err := r.Record(ctx, target, why); err != nil {
			return err
		}
	}
	if (o.IsAbandoned() || o.IsGivenUp()) && len(left.Inventory) > 0 {
		r.Recorder.Eventf(target, nil, corev1.EventTypeWarning, eventAbandoned, actionDelete, "%s left in TenantCluster %s: %s: %s",
			plural.Of(len(left.Inventory), "object|was|were"), ClusterKey(target), truncate.Cut(apply.Names(left.Inventory.Sorted()), maxNamesTold), truncate.Cut(why.Message, maxWhyTold))
	}
	return nil
}

// RecordKept tells what may remain outside of a cluster that goes because it was not to be removed. It comes before the
// target forgets what it applied.
func (r *Reconciler[T, S, M]) RecordKept(ctx context.Context, target T, o Observation, clusterID string, done apply.Result) error {
	if !o.IsClusterDeleted() {
		return nil
	}
	var errs []error
	for _, one := range kept(clusterID, done) {
		errs = append(errs, r.recordExternal(ctx, target, one))
	}
	return errors.Join(errs...)
}

// recordExternal tells of what stands for something outside of a cluster that goes: in an OrphanRecord, and then by an
// Event.
func (r *Reconciler[T, S, M]) recordExternal(ctx context.Context, target T, left tenancyv1alpha1.OrphanRecordSpec) error {
	if len(left.Objects) == 0 {
		return nil
	}
	if err := r.Record(ctx, target, left); err != nil {
		return err
	}
	r.Recorder.Eventf(target, nil, corev1.EventTypeWarning, eventOrphaned, actionDelete,
		"what %s stand for may remain outside of TenantCluster %s: %s", orphans.Describe(left), ClusterKey(target), truncate.Cut(left.Message, maxWhyTold))
	return nil
}

// Record writes an OrphanRecord of a target, if there is anything in it.
func (r *Reconciler[T, S, M]) Record(ctx context.Context, target T, left tenancyv1alpha1.OrphanRecordSpec) error {
	if len(left.Objects) == 0 {
		return nil
	}
	kind, err := r.Client.GroupVersionKindFor(target)
	if err != nil {
		return err
	}
	cluster := ClusterKey(target)
	left.ClusterName = cluster.Name
	left.Owner = tenancyv1alpha1.OrphanOwner{
		Group: kind.Group, Kind: kind.Kind, Namespace: target.GetNamespace(), Name: target.GetName(), Policy: policyOf(target),
	}
	return r.Orphans.Write(ctx, cluster.Namespace, left)
}
