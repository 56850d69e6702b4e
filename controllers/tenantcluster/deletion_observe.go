package tenantcluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
)

// leavings is what keeps a cluster that is being deleted.
type leavings struct {
	targets []deletion.Target
	drills  []string
	backups []deletion.Enrollment
}

// observeLeavings reads what keeps a cluster that is being deleted: drills and backups only until add-ons may go.
func (r *reconciler) observeLeavings(ctx context.Context, o *observation) (err error) {
	if !o.deleting() {
		return nil
	}
	if o.left.targets, err = r.listTargets(ctx, o.key); err != nil {
		return err
	}
	if !o.cluster.KeepsTargets() {
		return nil
	}
	if o.left.drills, err = r.listDrills(ctx, o.key); err != nil {
		return err
	}
	if o.cluster.Spec.Deletion.FinalBackup {
		o.left.backups, err = r.listBackups(ctx, o.key)
	}
	return err
}

func (r *reconciler) listTargets(ctx context.Context, key types.NamespacedName) ([]deletion.Target, error) {
	members, err := r.targets.In(ctx, r.client, key)
	if err != nil {
		return nil, err
	}
	var listed []deletion.Target
	for _, member := range members {
		target := deletion.Target{Kind: member.Kind.Kind, NamespacedName: member.Key(), Deleted: member.RemovedSince}
		if member.Kind.Policy != nil {
			target.PolicyKind = member.Kind.Policy.Kind
		}
		if member.RemovedSince.IsZero() {
			if target.HeldBy, err = r.guardOf(ctx, member); err != nil {
				return nil, err
			}
		}
		listed = append(listed, target)
	}
	return listed, nil
}

// guardOf names the policy whose withdrawal guard keeps a target from being deleted; empty if none does.
func (r *reconciler) guardOf(ctx context.Context, member targets.Member) (string, error) {
	key, has := member.PolicyKey()
	if !has {
		return "", nil
	}
	kind := member.Kind.Policy
	policy := kind.New()
	err := r.client.Get(ctx, key, policy)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s %s: %w", kind.Kind, key, err)
	}
	if !guards(policy) {
		return "", nil
	}
	return kind.Kind + " " + key.String(), nil
}

// guards is whether the withdrawal guard of a policy holds targets back.
func guards(policy metav1alpha1.Policy) bool {
	stalled := meta.FindStatusCondition(policy.GetPolicyStatus().Conditions, metav1alpha1.ConditionStalled)
	return stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason == metav1alpha1.ReasonWithdrawalGuard
}
