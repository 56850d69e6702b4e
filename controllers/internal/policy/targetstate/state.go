// Package targetstate is what a target's conditions say to its policy: its state, and since when.
package targetstate

import (
	"slices"
	"time"

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
func (reasons Reasons) State(target metav1alpha1.Target) (rollout.State, string) {
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
func CurrentCondition(target metav1alpha1.Target, kind string) *metav1.Condition {
	return conditions.Current(target.GetTargetStatus().Conditions, target.GetGeneration(), kind)
}

// ReadySince is when a target became Ready in its current generation; zero if it is not.
func ReadySince(target metav1alpha1.Target) time.Time {
	ready := CurrentCondition(target, metav1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue {
		return time.Time{}
	}
	return ready.LastTransitionTime.Time
}

// NotReadySince is when a target was written last, or stopped being Ready in its current generation, whichever is later; zero if it
// is Ready.
func NotReadySince(target metav1alpha1.Target) time.Time {
	since := target.GetTargetSpec().WrittenAt.Time
	if since.IsZero() {
		since = target.GetCreationTimestamp().Time
	}
	ready := CurrentCondition(target, metav1alpha1.ConditionReady)
	switch {
	case ready == nil:
	case ready.Status == metav1.ConditionTrue:
		return time.Time{}
	case ready.LastTransitionTime.After(since):
		return ready.LastTransitionTime.Time
	}
	return since
}
