package policy

import (
	"cmp"

	"k8s.io/utils/ptr"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// GuardOf fills in what a policy does not say of its guard, as rollouts do.
func GuardOf(guard metav1alpha1.WithdrawalGuard) rollout.Guard {
	return rollout.Guard{
		MaxClusters: int(cmp.Or(guard.MaxClusters, metav1alpha1.DefaultWithdrawalMaxClusters)),
		MaxPercent:  int(ptr.Deref(guard.MaxPercent, metav1alpha1.DefaultWithdrawalMaxPercent)),
	}
}
