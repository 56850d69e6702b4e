package webhooks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;create;patch

// rehearse asks Cluster API what it says to an order, as a dry run. A refusal is for a person to mend; an error says
// why there is no answer.
func (v *tenantClusters) rehearse(ctx context.Context, before, after *tenancyv1alpha1.TenantCluster) (refusal string, err error) {
	live := &clusterv1.Cluster{}
	err = v.client.Get(ctx, client.ObjectKeyFromObject(after), live)
	if apierrors.IsNotFound(err) {
		return answer(v.client.Create(ctx, v.desired(after), client.DryRunAll), after.Name)
	}
	if err != nil {
		return "", fmt.Errorf("read Cluster %s: %w", after.Name, err)
	}
	switch {
	case !topology.IsOurs(live, v.installation):
		return "", fmt.Errorf("there is a Cluster %s in this namespace already which Daytwo did not make", live.Name)
	case !live.DeletionTimestamp.IsZero():
		return v.rehearseAnother(ctx, after)
	}
	return v.rehearseChange(ctx, live, before, after)
}

func (v *tenantClusters) desired(cluster *tenancyv1alpha1.TenantCluster) *clusterv1.Cluster {
	return topology.Desired(cluster, cluster.Spec.Topology.Version, v.installation)
}

// rehearseChange tries the version apart from everything else: that may only have to wait. Cluster API refuses a
// change of version while another one is under way, for instance, and then the controller waits.
func (v *tenantClusters) rehearseChange(
	ctx context.Context, live *clusterv1.Cluster, before, after *tenancyv1alpha1.TenantCluster,
) (refusal string, err error) {
	ordered := live.Spec.Topology.Version
	if wanted := after.Spec.Topology.Version; wanted != ordered && changesVersion(before, after) {
		if refusal := topology.Skew(ordered, wanted); refusal != "" {
			return refusal, nil
		}
		if refusal, err := v.rehearseAnother(ctx, after); refusal != "" || err != nil {
			return refusal, err
		}
	}
	changed, differs := topology.Reconciled(live, topology.Desired(after, ordered, v.installation), after.Status.TopologyHash)
	if !differs {
		return "", nil
	}
	return answer(v.client.Patch(ctx, changed, client.MergeFrom(live), client.DryRunAll), after.Name)
}

func changesVersion(before, after *tenancyv1alpha1.TenantCluster) bool {
	return before.Spec.Topology == nil || before.Spec.Topology.Version != after.Spec.Topology.Version
}

// rehearseAnother tries a Cluster like the one that is ordered under a name that nobody has: what the class says to
// it, its version above all, and not what the Cluster that is there says. No quota counts for it.
func (v *tenantClusters) rehearseAnother(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster) (refusal string, err error) {
	another := v.desired(cluster)
	another.Name, another.GenerateName = "", cluster.Name+"-"
	err = v.client.Create(ctx, another, client.DryRunAll)
	if apierrors.IsForbidden(err) {
		return "", nil
	}
	return answer(err, cluster.Name)
}

// answer tells a refusal from no answer.
func answer(err error, name string) (refusal string, undecided error) {
	if err == nil || isUndecided(err) {
		return "", err
	}
	if message, refused := topology.Refusal(err, name); refused {
		return message, nil
	}
	return "", err
}

// isUndecided knows the refusals that do not speak of the order: Cluster API could not find something out (which
// class a Cluster that exists already changes to, say), or somebody's webhook cannot rehearse.
func isUndecided(err error) bool {
	if apierrors.IsBadRequest(err) {
		return strings.Contains(err.Error(), "does not support dry run")
	}
	status, ok := err.(apierrors.APIStatus) //nolint:errorlint // The client returns it as it is.
	if !ok || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return false
	}
	return !slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Type != metav1.CauseType(field.ErrorTypeInternal)
	})
}
