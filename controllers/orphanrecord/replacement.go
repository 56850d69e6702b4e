package orphanrecord

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/selection"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// awaitsReplacement: the policy whose target left a record selects the cluster again, and has no target there yet. Its rollout
// may be paused, or wait for a slot; what it left runs on until then.
func (r *Reconciler) awaitsReplacement(ctx context.Context, left tenancyv1alpha1.OrphanRecordSpec, cluster *tenancyv1alpha1.TenantCluster, members []targets.Member) (bool, error) {
	kind := r.Targets.Kind(schema.GroupKind{Group: left.Owner.Group, Kind: left.Owner.Kind})
	if left.Owner.Policy == "" || kind == nil || kind.Policy == nil {
		return false, nil
	}
	key := client.ObjectKey{Namespace: left.Owner.Namespace, Name: left.Owner.Policy}
	policy := kind.Policy.New()
	if err := r.Client.Get(ctx, key, policy); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if policy.GetDeletionTimestamp() != nil || hasTarget(kind, key, members) {
		return false, nil
	}
	home := &metav1.PartialObjectMetadata{}
	home.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.Client.Get(ctx, client.ObjectKey{Name: cluster.Namespace}, home); err != nil {
		return false, fmt.Errorf("read Namespace %s: %w", cluster.Namespace, err)
	}
	return selection.Selects(policy, cluster, home.Labels), nil
}

func hasTarget(kind *targets.Kind, policy client.ObjectKey, members []targets.Member) bool {
	return slices.ContainsFunc(members, func(member targets.Member) bool {
		key, has := member.PolicyKey()
		return has && key == policy && member.Kind == kind
	})
}
