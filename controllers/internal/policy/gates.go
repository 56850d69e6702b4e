package policy

import (
	"slices"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/clusterstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
)

// policyGates hold changes back in all clusters: those of the kind, the policy is suspended, or it has no usable content.
func policyGates[P Policy, T Target](o observation[P, T]) []rollout.Gate {
	gates := slices.Clone(o.gates)
	if suspended := suspension.Of(o.policy.GetPolicySpec().Suspend, o.policy.GetAnnotations(), o.now); suspended.Active {
		gates = append(gates, clusterstate.SuspendedGate(suspended))
	}
	switch {
	case o.stall != nil && !o.stall.Usable:
		gates = append(gates, contentGate(o.stall.Reason, o.stall.Retry))
	case o.snapshot == nil:
		gates = append(gates, contentGate(metav1alpha1.ReasonProgressing, time.Time{}))
	case o.trial.Pending:
		gates = append(gates, trialGate(o.trial.Again))
	}
	return gates
}

// trialGate is closed until it is known whether the content can be used for any cluster.
func trialGate(again time.Time) rollout.Gate {
	gate := contentGate(metav1alpha1.ReasonProgressing, again)
	gate.Message = "waiting until the content has been tried"
	return gate
}

func contentGate(reason string, retry time.Time) rollout.Gate {
	return rollout.Gate{
		Reason: reason, Message: "waiting for usable content", Until: retry,
		Blocks: rollout.Create | rollout.Update, KeepsSlot: true,
	}
}
