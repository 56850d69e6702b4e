package tenantcluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
)

// leavings is what keeps a cluster that is being deleted.
type leavings struct {
	targets []deletion.Target
	drills  []string
	backups deletion.Backups
}

// observeLeavings reads what keeps a cluster that is being deleted: drills and backups only until add-ons may go.
func (r *reconciler) observeLeavings(ctx context.Context, seen *observed) (err error) {
	if !seen.deleting() {
		return nil
	}
	if seen.left.targets, err = r.listTargets(ctx, seen.key); err != nil {
		return err
	}
	if !seen.cluster.KeepsTargets() {
		return nil
	}
	if seen.left.drills, err = r.listDrills(ctx, seen.key); err != nil {
		return err
	}
	if seen.cluster.Spec.Deletion.FinalBackup {
		seen.left.backups, err = r.listBackups(ctx, seen.key)
	}
	return err
}

func (r *reconciler) listTargets(ctx context.Context, key types.NamespacedName) ([]deletion.Target, error) {
	releases := &addonsv1alpha1.AddonReleaseList{}
	if err := r.client.List(ctx, releases, client.UnsafeDisableDeepCopy, targetsOf(key)); err != nil {
		return nil, fmt.Errorf("list targets: %w", err)
	}
	var targets []deletion.Target
	var err error
	for i := range releases.Items {
		release := &releases.Items[i]
		target := deletion.Target{NamespacedName: client.ObjectKeyFromObject(release)}
		if release.DeletionTimestamp != nil {
			target.Deleted = release.DeletionTimestamp.Time
		} else if target.HeldBy, err = r.guardOf(ctx, release); err != nil {
			return nil, err
		}
		targets = append(targets, target)
	}
	slices.SortFunc(targets, func(a, b deletion.Target) int { return cmp.Compare(a.String(), b.String()) })
	return targets, nil
}

// guardOf names the SaaSAddon whose withdrawal guard keeps a target from being deleted; empty if none does.
func (r *reconciler) guardOf(ctx context.Context, release *addonsv1alpha1.AddonRelease) (string, error) {
	addon := &addonsv1alpha1.SaaSAddon{}
	key := types.NamespacedName{Namespace: release.Namespace, Name: release.Labels[metav1alpha1.LabelPolicy]}
	err := r.client.Get(ctx, key, addon)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read SaaSAddon %s: %w", key, err)
	}
	if !guards(addon) {
		return "", nil
	}
	return "SaaSAddon " + key.String(), nil
}

// guards is whether the withdrawal guard of an add-on holds targets back.
func guards(addon *addonsv1alpha1.SaaSAddon) bool {
	stalled := meta.FindStatusCondition(addon.Status.Conditions, metav1alpha1.ConditionStalled)
	return stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason == metav1alpha1.ReasonWithdrawalGuard
}
