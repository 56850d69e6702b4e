package saasaddon

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// Withdrawal says what the guard would make of the clusters that an add-on loses if it is as given: for
// admission, which answers an edit at once. It selects as a reconcile does, so nothing is lost by selectors that
// a reconcile refuses.
func Withdrawal(
	ctx context.Context, cached client.Client, addon *addonsv1alpha1.SaaSAddon, providerNamespace string, now time.Time,
) (rollout.Withdrawal, error) {
	r := &Reconciler{Client: cached, ProviderNamespace: providerNamespace}
	seen := &observed{addon: addon, now: now}
	var err error
	if seen.targets, err = r.listTargets(ctx, addon); err != nil {
		return rollout.Withdrawal{}, err
	}
	if err := r.observeClusters(ctx, seen); err != nil {
		return rollout.Withdrawal{}, err
	}
	return rollout.Withdraw(rolloutInput(*seen)), nil
}
