package target

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// actionApply is the action of Events that tell how a target is.
const actionApply = "Apply"

// eventReady is the reason of the Event that tells that all is well.
const eventReady = "Ready"

// tellTransition tells by an Event, once, that a target failed, or became ready. The conditions are those of the status before, and
// of the one that is written.
func (r *Reconciler[T, S, M]) tellTransition(target T, before, after *metav1alpha1.TargetStatus) {
	kind, reason, is := transition(before, after)
	if is == nil {
		return
	}
	cluster := ClusterKey(target).String()
	r.Recorder.Eventf(target, nil, kind, reason, actionApply, "%s: %s", cluster, is.Message)
	if kind == corev1.EventTypeWarning {
		r.Log.Info("target failed", "kind", r.Kind.Name(), "object", target.GetNamespace()+"/"+target.GetName(), "cluster", cluster, "reason", reason)
	}
}

// transition is what is new of Ready and worth an Event; nil for nothing. That a cluster does not answer is told of the
// TenantCluster.
func transition(before, after *metav1alpha1.TargetStatus) (kind, reason string, is *metav1.Condition) {
	was := meta.FindStatusCondition(before.Conditions, metav1alpha1.ConditionReady)
	is = meta.FindStatusCondition(after.Conditions, metav1alpha1.ConditionReady)
	switch {
	case is == nil:
		return "", "", nil
	case is.Status == metav1.ConditionTrue && before.Revision != after.Revision:
		return corev1.EventTypeNormal, eventReady, is
	case was != nil && was.Status == is.Status && was.Reason == is.Reason:
		return "", "", nil
	case is.Status == metav1.ConditionTrue && was != nil && isFailure(was, before.Conditions):
		return corev1.EventTypeNormal, eventReady, is
	case isFailure(is, after.Conditions):
		return corev1.EventTypeWarning, is.Reason, is
	}
	return "", "", nil
}

// isFailure is whether a target that is not ready needs somebody to look at it.
func isFailure(ready *metav1.Condition, all []metav1.Condition) bool {
	if ready.Status != metav1.ConditionFalse {
		return false
	}
	failures := []string{metav1alpha1.ReasonFailed, metav1alpha1.ReasonUnhealthy, metav1alpha1.ReasonStandstill}
	return meta.IsStatusConditionTrue(all, metav1alpha1.ConditionStalled) || slices.Contains(failures, ready.Reason)
}
