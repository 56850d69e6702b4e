package orphanrecord

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=saasaddons,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// awaitsSuccessor: the add-on that left a record selects the cluster again, and has no target there yet. Its rollout may
// be paused, or wait for a slot; what it left runs on until then.
func (r *Reconciler) awaitsSuccessor(ctx context.Context, left tenancyv1alpha1.OrphanRecordSpec, cluster *tenancyv1alpha1.TenantCluster, releases []addonsv1alpha1.AddonRelease) (bool, error) {
	if left.Owner.Policy == "" {
		return false, nil
	}
	addon := &addonsv1alpha1.SaaSAddon{}
	key := client.ObjectKey{Namespace: left.Owner.Namespace, Name: left.Owner.Policy}
	if err := r.Client.Get(ctx, key, addon); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if addon.DeletionTimestamp != nil || hasTarget(addon, releases) {
		return false, nil
	}
	home := &metav1.PartialObjectMetadata{}
	home.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.Client.Get(ctx, client.ObjectKey{Name: cluster.Namespace}, home); err != nil {
		return false, fmt.Errorf("read Namespace %s: %w", cluster.Namespace, err)
	}
	return selects(addon, cluster, home.Labels), nil
}

func hasTarget(addon *addonsv1alpha1.SaaSAddon, releases []addonsv1alpha1.AddonRelease) bool {
	return slices.ContainsFunc(releases, func(release addonsv1alpha1.AddonRelease) bool {
		return release.Namespace == addon.Namespace && release.Labels[metav1alpha1.LabelPolicy] == addon.Name
	})
}

// selects says whether an add-on selects a cluster. Of selectors that are refused nobody knows: they do.
func selects(addon *addonsv1alpha1.SaaSAddon, cluster *tenancyv1alpha1.TenantCluster, namespace labels.Set) bool {
	if addon.Namespace == cluster.Namespace {
		return slices.Contains(addon.Spec.ClusterNames, cluster.Name) || matches(addon.Spec.ClusterSelector, cluster.Labels)
	}
	return matches(addon.Spec.ClusterNamespaceSelector, namespace) && matches(addon.Spec.ClusterSelector, cluster.Labels)
}

// matches nothing where there is no selector.
func matches(selector *metav1.LabelSelector, set labels.Set) bool {
	made, err := metav1.LabelSelectorAsSelector(selector)
	return err != nil || made.Matches(set)
}
