package backuppolicy

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/selection"
)

// IsCovered is whether a BackupPolicy selects a cluster, which need not be there yet: one of its namespace, or one of the
// provider's.
func IsCovered(ctx context.Context, reader client.Reader, cluster *tenancyv1alpha1.TenantCluster, providerNamespace string) (bool, error) {
	home := objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := reader.Get(ctx, client.ObjectKey{Name: cluster.Namespace}, home); err != nil {
		return false, fmt.Errorf("read Namespace %s: %w", cluster.Namespace, err)
	}
	for _, namespace := range []string{cluster.Namespace, providerNamespace} {
		list := &backupv1alpha1.BackupPolicyList{}
		if err := reader.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return false, fmt.Errorf("list the BackupPolicies of namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			if policy := &list.Items[i]; policy.DeletionTimestamp.IsZero() && selection.Selects(policy, cluster, home.Labels) {
				return true, nil
			}
		}
	}
	return false, nil
}
