// Package targetstate is what a target's conditions say to its policy: its state, and since when.
package targetstate

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// Reasons of a kind of target for not being Ready, beside those that all kinds share.
type Reasons struct {
	// Progressing: it has not failed.
	Progressing []string
	// Unusable: it could not look, though the cluster answers.
	Unusable []string
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
	case ready.Reason == metav1alpha1.ReasonClusterUnreachable || ready.Reason == metav1alpha1.ReasonAbandoned:
		return rollout.Unreachable, ready.Message
	case ready.Reason == metav1alpha1.ReasonClusterUnusable || slices.Contains(reasons.Unusable, ready.Reason):
		return rollout.Unusable, ready.Message
	case ready.Status == metav1.ConditionUnknown || reasons.isProgressing(ready.Reason):
		return rollout.Progressing, ready.Message
	}
	return rollout.Failed, ready.Message
}

func (reasons Reasons) isProgressing(reason string) bool {
	switch reason {
	case metav1alpha1.ReasonProgressing, metav1alpha1.ReasonSuspended, metav1alpha1.ReasonUpgrading, metav1alpha1.ReasonStandstill,
		metav1alpha1.ReasonDeleting:
		return true
	}
	return slices.Contains(reasons.Progressing, reason)
}

// IsStanding is whether a target has been on its way for a while, by what it says of its current generation.
func IsStanding(target metav1alpha1.Target) bool {
	ready := CurrentCondition(target, metav1alpha1.ConditionReady)
	return ready != nil && ready.Reason == metav1alpha1.ReasonStandstill
}

// IsApplied is whether a target's revision was applied in its cluster, by what it says of its current generation. What was
// applied in a cluster that does not answer now still counts.
func IsApplied(target metav1alpha1.Target) bool {
	status := target.GetTargetStatus()
	if status.Revision != target.GetTargetSpec().Revision || status.ObservedGeneration != target.GetGeneration() {
		return false
	}
	return !meta.IsStatusConditionFalse(status.Conditions, metav1alpha1.ConditionApplied)
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
