package webhooks

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/maintenancewindow"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// patience with Cluster API, which itself waits 4 s for a ClusterClass that does not exist. It is over before the
// 10 s of the webhook's configuration are, so that there is time left for a warning.
const patience = 8 * time.Second

var tenantClusterKind = tenancyv1alpha1.GroupVersion.WithKind("TenantCluster")

// tenantClusters checks TenantClusters.
type tenantClusters struct {
	// client has no cache: Clusters are in that of the leading replica only.
	client client.Client
	orders topology.Options
	// isCovered is whether a BackupPolicy selects a cluster.
	isCovered func(context.Context, *tenancyv1alpha1.TenantCluster) (bool, error)
}

// ValidateCreate implements admission.Validator.
func (v *tenantClusters) ValidateCreate(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster) (admission.Warnings, error) {
	if err := checkWindows(cluster); err != nil {
		return nil, err
	}
	warnings, err := v.checkOrder(ctx, &tenancyv1alpha1.TenantCluster{}, cluster)
	return append(warnings, v.finalBackupWarnings(ctx, cluster)...), err
}

// ValidateUpdate implements admission.Validator. What was there before is none of its business, however wrong.
func (v *tenantClusters) ValidateUpdate(ctx context.Context, before, after *tenancyv1alpha1.TenantCluster) (admission.Warnings, error) {
	if !after.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	if !equality.Semantic.DeepEqual(before.Spec.MaintenanceWindows, after.Spec.MaintenanceWindows) {
		if err := checkWindows(after); err != nil {
			return nil, err
		}
	}
	var warnings admission.Warnings
	if !before.Spec.Deletion.FinalBackup {
		warnings = v.finalBackupWarnings(ctx, after)
	}
	if equality.Semantic.DeepEqual(before.Spec.Topology, after.Spec.Topology) {
		return warnings, nil
	}
	ordered, err := v.checkOrder(ctx, before, after)
	return append(warnings, ordered...), err
}

// finalBackupWarnings tell of a last backup that nobody is there to make. A policy may come later, so it is no refusal.
func (v *tenantClusters) finalBackupWarnings(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster) admission.Warnings {
	if !cluster.Spec.Deletion.FinalBackup {
		return nil
	}
	covered, err := v.isCovered(ctx, cluster)
	switch {
	case err != nil:
		return admission.Warnings{fmt.Sprintf("spec.deletion.finalBackup: whether a BackupPolicy selects this cluster could not be found out: %v", err)}
	case !covered:
		return admission.Warnings{"spec.deletion.finalBackup: no BackupPolicy selects this cluster, so its deletion would wait until one does, or until this is false"}
	}
	return nil
}

// ValidateDelete implements admission.Validator.
func (v *tenantClusters) ValidateDelete(context.Context, *tenancyv1alpha1.TenantCluster) (admission.Warnings, error) {
	return nil, nil
}

// checkWindows refuses windows that cannot be read.
func checkWindows(cluster *tenancyv1alpha1.TenantCluster) error {
	if field, err := maintenancewindow.Check(cluster.Spec.MaintenanceWindows); err != nil {
		return invalid(tenantClusterKind, cluster.Name, field, err.Error())
	}
	return nil
}

// checkOrder refuses what Cluster API refuses, in its words, and passes its warnings on.
func (v *tenantClusters) checkOrder(ctx context.Context, before, after *tenancyv1alpha1.TenantCluster) (admission.Warnings, error) {
	if after.Spec.Topology == nil {
		return nil, nil
	}
	if problem := v.orders.Check(after); problem != nil {
		return nil, invalid(tenantClusterKind, after.Name, problem.Field, problem.Message)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ctx, warnings := collecting(ctx)
	refusal, err := v.dryRun(ctx, before, after)
	if refusal != "" {
		return warnings.all(), invalid(tenantClusterKind, after.Name, "spec.topology", refusal)
	}
	if err != nil {
		warnings.add(fmt.Sprintf("spec.topology could not be checked, and the conditions of the TenantCluster will tell what becomes of it: %v", err))
	}
	return warnings.all(), nil
}
