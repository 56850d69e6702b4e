package policy

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// Withdrawal says what the guard would make of the clusters that a policy loses if it is as given: for
// admission, which answers an edit at once. It selects as a reconcile does, so nothing is lost by selectors that
// a reconcile refuses.
func Withdrawal[P Policy, T Target](
	ctx context.Context, cached client.Client, kind Kind[P, T], policy P, providerNamespace string, now time.Time,
) (rollout.Withdrawal, error) {
	builder := viewBuilder[P, T]{reader: cached, kind: kind, provider: providerNamespace, policy: policy, now: now}
	view, err := builder.build(ctx, basisOf(policy, now), policyLabel(policy))
	if err != nil {
		return rollout.Withdrawal{}, err
	}
	return rollout.Withdraw(rolloutInput(observation[P, T]{policy: policy, view: view, now: now})), nil
}
