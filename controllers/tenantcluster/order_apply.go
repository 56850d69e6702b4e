package tenantcluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusterapi"
)

// applyOrder creates, changes or deletes the Cluster. What Cluster API refuses is a problem for a person,
// not an error.
func (r *reconciler) applyOrder(ctx context.Context, o observation, p orderPlan) (clusterapi.Answer, error) {
	switch {
	case p.create != nil:
		return r.clusters.Create(ctx, p.create)
	case p.update != nil:
		return r.clusters.Change(ctx, o.made.live, p.update)
	case p.dryRun != nil:
		return r.clusters.Rehearse(ctx, o.made.live, p.dryRun)
	case p.delete:
		return clusterapi.Answer{}, r.clusters.Delete(ctx, o.made.live)
	}
	return clusterapi.Answer{}, nil
}

// confirmGone makes sure that the Cluster that was ordered is gone, and not just missing in the cache.
func (r *reconciler) confirmGone(ctx context.Context, o observation) error {
	if o.cluster == nil || o.cluster.Spec.Topology == nil || o.home.problem != nil || o.made.live != nil || o.made.presence == optionalkind.NotInstalled {
		return nil
	}
	return r.clusters.ConfirmGone(ctx, o.orders.ClusterOf(o.cluster))
}

// recordRemaining tells of a Cluster that Cluster API did not remove in time.
func (r *reconciler) recordRemaining(ctx context.Context, o observation) error {
	if !o.deleting() || !o.ordered() || !controllerutil.ContainsFinalizer(o.cluster, metav1alpha1.FinalizerCluster) {
		return nil
	}
	live := o.made.live
	left := tenancyv1alpha1.OrphanRecordSpec{
		ClusterName: o.cluster.Name, ClusterID: o.cluster.Status.ClusterID, Owner: ownedBy(o.cluster),
		// It is an object of the management cluster, which no sweep of a workload cluster looks for.
		Objects: []tenancyv1alpha1.OrphanObject{{ID: clusterapi.Kind.GroupVersion().String() + "/Cluster/" + live.Namespace + "/" + live.Name, Keep: true}},
		Reason:  tenancyv1alpha1.OrphanTimedOut, Message: "Cluster API did not remove it before the deletion was due: " + removal(live),
	}
	if err := r.orphans.Write(ctx, o.key.Namespace, left); err != nil {
		return err
	}
	r.events.Eventf(o.cluster, nil, corev1.EventTypeWarning, "Orphaned", "Delete", "%s may remain: %s", orphans.Describe(left), left.Message)
	return nil
}
