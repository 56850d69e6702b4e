package controllers

import (
	"k8s.io/utils/ptr"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// SetWithdrawalGuardMax bounds the withdrawal guards of policies outside of the provider's namespace, as in "10,50%".
func (o *Options) SetWithdrawalGuardMax(text string) (err error) {
	o.guardMax, err = rollout.ParseGuard(text)
	return err
}

// BoundGuard is a withdrawal guard of a policy in a namespace, within what the provider allows there.
func (o *Options) BoundGuard(namespace string, guard metav1alpha1.WithdrawalGuard) metav1alpha1.WithdrawalGuard {
	bound := policy.GuardOf(guard)
	if namespace != o.ProviderNamespace {
		bound = bound.AtMost(o.guardMax)
	}
	return metav1alpha1.WithdrawalGuard{MaxClusters: int32(bound.MaxClusters), MaxPercent: ptr.To(int32(bound.MaxPercent))}
}
