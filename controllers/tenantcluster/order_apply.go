package tenantcluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch;create;patch;delete

// applyOrder creates, changes or deletes the Cluster. What Cluster API refuses is a problem for a person,
// not an error.
func (r *reconciler) applyOrder(ctx context.Context, o observation, p orderPlan) (orderResult, error) {
	switch {
	case p.create != nil:
		cluster := p.create.DeepCopy()
		return taken(cluster, r.client.Create(ctx, cluster, r.asOurs()), "create")
	case p.update != nil:
		cluster := p.update.DeepCopy()
		return taken(cluster, r.client.Patch(ctx, cluster, guardedPatch(o.made.live), r.asOurs()), "change")
	case p.dryRun != nil:
		err := r.client.Patch(ctx, p.dryRun.DeepCopy(), guardedPatch(o.made.live), client.DryRunAll, r.asOurs())
		if topology.LacksDryRun(err) {
			return orderResult{}, nil
		}
		refused, err := refusal(err, "rehearse a change of", p.dryRun.Name)
		return orderResult{refused: refused}, err
	case p.delete:
		return orderResult{}, r.deleteCluster(ctx, o.made.live)
	}
	return orderResult{}, nil
}

// orderResult is what came of an order.
type orderResult struct {
	// cluster as Cluster API took the order; nil if it was not asked, or took none.
	cluster *clusterv1.Cluster
	// refused is why Cluster API does not take the order.
	refused *problem
}

func taken(cluster *clusterv1.Cluster, err error, verb string) (orderResult, error) {
	refused, failed := refusal(err, verb, cluster.Name)
	if err != nil {
		return orderResult{refused: refused}, failed
	}
	return orderResult{cluster: cluster}, nil
}

// asOurs names the field manager of what is ordered, so that an edit shows who made it.
func (r *reconciler) asOurs() client.FieldOwner {
	return client.FieldOwner(managedfields.ManagerOf(r.options.Orders.Installation))
}

// deleteCluster deletes the Cluster that was looked at, and no other of its name.
func (r *reconciler) deleteCluster(ctx context.Context, live *clusterv1.Cluster) error {
	err := r.client.Delete(ctx, live.DeepCopy(), client.Preconditions{UID: &live.UID})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete Cluster %s: %w", live.Name, err)
	}
	return nil
}

// confirmGone makes sure that the Cluster that was ordered is gone, and not just missing in the cache.
func (r *reconciler) confirmGone(ctx context.Context, o observation) error {
	if o.cluster == nil || o.cluster.Spec.Topology == nil || o.home.problem != nil || o.made.live != nil || o.made.presence == optionalkind.NotInstalled {
		return nil
	}
	live := &clusterv1.Cluster{}
	err := r.live.Get(ctx, o.orders.ClusterOf(o.cluster), live)
	if apierrors.IsNotFound(err) || err == nil && !topology.IsOurs(live, o.orders.Installation) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for Cluster %s: %w", o.key.Name, err)
	}
	return behind(o.key.Name)
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
		Objects: []tenancyv1alpha1.OrphanObject{{ID: clusterKind.GroupVersion().String() + "/Cluster/" + live.Namespace + "/" + live.Name, Keep: true}},
		Reason:  tenancyv1alpha1.OrphanTimedOut, Message: "Cluster API did not remove it before the deletion was due: " + removal(live),
	}
	if err := r.orphans.Write(ctx, o.key.Namespace, left); err != nil {
		return err
	}
	r.events.Eventf(o.cluster, nil, corev1.EventTypeWarning, "Orphaned", "Delete", "%s may remain: %s", orphans.Describe(left), left.Message)
	return nil
}

// refusal tells what Cluster API's admission says no to from what the next try may mend, as when it could not find
// the class.
func refusal(err error, verb, name string) (*problem, error) {
	if err == nil {
		return nil, nil
	}
	if lacksNamespace(err) {
		return nil, behind(name)
	}
	if message, refused := topology.Refusal(err, name); refused && !topology.IsUndecided(err) {
		return &problem{tenancyv1alpha1.ReasonOrderRefused, message}, nil
	}
	if apierrors.IsAlreadyExists(err) {
		// The cache is behind: somebody, maybe an earlier try, made it.
		return nil, behind(name)
	}
	return nil, fmt.Errorf("%s Cluster %s: %w", verb, name, err)
}

// lacksNamespace is whether there is nowhere to make something.
func lacksNamespace(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err)
}

// behind is the conflict that a cache makes which does not show a Cluster yet: settle tries again soon.
func behind(name string) error {
	return apierrors.NewConflict(clusterv1.GroupVersion.WithResource("clusters").GroupResource(), name, errors.New("the cache does not show it yet"))
}
