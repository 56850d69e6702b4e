package webhooks

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusternamespace"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;create;patch

// dryRun asks Cluster API what it says to an order, as a dry run. A refusal is for a person to mend; an error says
// why there is no answer.
func (v *tenantClusters) dryRun(ctx context.Context, before, after *tenancyv1alpha1.TenantCluster) (refusal string, err error) {
	state, err := clusternamespace.Look(ctx, v.client, after.Namespace, v.orders)
	switch {
	case err != nil:
		return "", err
	case state == clusternamespace.Foreign:
		return "", fmt.Errorf("namespace %s, in which the Cluster would be made, is not marked as this namespace's", v.orders.ClusterNamespace(after.Namespace))
	case state != clusternamespace.Ready:
		return v.dryRunElsewhere(ctx, after)
	}
	live := &clusterv1.Cluster{}
	err = v.client.Get(ctx, v.orders.ClusterOf(after), live)
	if apierrors.IsNotFound(err) {
		return answer(v.client.Create(ctx, v.desired(after), client.DryRunAll), after.Name)
	}
	if err != nil {
		return "", fmt.Errorf("read Cluster %s: %w", after.Name, err)
	}
	switch {
	case !topology.IsOurs(live, v.orders.Installation):
		return "", fmt.Errorf("there is a Cluster %s in namespace %s already which Daytwo did not make", live.Name, live.Namespace)
	case !live.DeletionTimestamp.IsZero():
		return v.dryRunAnother(ctx, after)
	}
	return v.dryRunChange(ctx, live, before, after)
}

func (v *tenantClusters) desired(cluster *tenancyv1alpha1.TenantCluster) *clusterv1.Cluster {
	return topology.Desired(cluster, cluster.Spec.Topology.Version, v.orders)
}

// dryRunChange tries the version apart from everything else: that may only have to wait. Cluster API refuses a
// change of version while another one is under way, for instance, and then the controller waits.
func (v *tenantClusters) dryRunChange(
	ctx context.Context, live *clusterv1.Cluster, before, after *tenancyv1alpha1.TenantCluster,
) (refusal string, err error) {
	var undecided error
	ordered := live.Spec.Topology.Version
	if wanted := after.Spec.Topology.Version; wanted != ordered && changesVersion(before, after) {
		if refusal := topology.Skew(ordered, wanted); refusal != "" {
			return refusal, nil
		}
		if refusal, undecided = v.dryRunAnother(ctx, after); refusal != "" {
			return refusal, nil
		}
	}
	changed := topology.Reconciled(live, topology.Desired(after, ordered, v.orders))
	refusal, err = answer(v.client.Patch(ctx, changed, client.MergeFrom(live), client.DryRunAll), after.Name)
	if refusal == "" && undecided != nil {
		return "", undecided
	}
	return refusal, err
}

func changesVersion(before, after *tenancyv1alpha1.TenantCluster) bool {
	return before.Spec.Topology == nil || before.Spec.Topology.Version != after.Spec.Topology.Version
}

// dryRunAnother tries a Cluster like the one that is ordered under a name that nobody has: what the class says to
// it, its version above all, and not what the Cluster that is there says.
func (v *tenantClusters) dryRunAnother(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster) (refusal string, err error) {
	return v.dryRunIn(ctx, v.orders.ClusterNamespace(cluster.Namespace), cluster)
}

// dryRunElsewhere tries it beside its class, where its own namespace is not there yet.
func (v *tenantClusters) dryRunElsewhere(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster) (refusal string, err error) {
	return v.dryRunIn(ctx, v.desired(cluster).Spec.Topology.ClassRef.Namespace, cluster)
}

func (v *tenantClusters) dryRunIn(ctx context.Context, namespace string, cluster *tenancyv1alpha1.TenantCluster) (refusal string, err error) {
	another := v.desired(cluster)
	another.Namespace, another.Name, another.GenerateName = namespace, "", cluster.Name+"-"
	return answerForAnother(v.client.Create(ctx, another, client.DryRunAll), cluster.Name)
}
