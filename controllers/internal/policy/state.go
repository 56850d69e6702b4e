package policy

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// Reasons of a kind of target for not being Ready, beside those that all kinds share.
type Reasons struct {
	// Progressing: it has not failed.
	Progressing []string
	// Unreachable: it could not look.
	Unreachable []string
}

// State is what a target's conditions say of its current generation, and the message that goes with it.
func (reasons Reasons) State(target Target) (rollout.State, string) {
	ready := CurrentCondition(target, metav1alpha1.ConditionReady)
	stalled := CurrentCondition(target, metav1alpha1.ConditionStalled)
	switch {
	case stalled != nil && stalled.Status == metav1.ConditionTrue:
		return rollout.Failed, stalled.Message
	case ready == nil:
		return rollout.Progressing, ""
	case ready.Status == metav1.ConditionTrue:
		return rollout.Ready, ready.Message
	case reasons.isUnreachable(ready.Reason):
		return rollout.Unreachable, ready.Message
	case ready.Status == metav1.ConditionUnknown || reasons.isProgressing(ready.Reason):
		return rollout.Progressing, ready.Message
	}
	return rollout.Failed, ready.Message
}

func (reasons Reasons) isUnreachable(reason string) bool {
	return reason == metav1alpha1.ReasonClusterUnreachable || reason == metav1alpha1.ReasonAbandoned || slices.Contains(reasons.Unreachable, reason)
}

func (reasons Reasons) isProgressing(reason string) bool {
	switch reason {
	case metav1alpha1.ReasonProgressing, metav1alpha1.ReasonSuspended, metav1alpha1.ReasonDeleting:
		return true
	}
	return slices.Contains(reasons.Progressing, reason)
}

// CurrentCondition is a condition of a target's current generation; nil if it has none.
func CurrentCondition(target Target, kind string) *metav1.Condition {
	return conditions.Current(target.GetTargetStatus().Conditions, target.GetGeneration(), kind)
}
