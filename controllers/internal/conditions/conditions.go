// Package conditions sets the conditions of an object, and the three among them that sum it up in the sense of kstatus:
// Ready, Reconciling and Stalled. It is pure.
package conditions

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// MaxMessage is how long a message may be, in bytes: some of it comes from clusters, and kubectl get shows that of Ready.
// The API allows 32768.
const MaxMessage = 2048

// List is the conditions of one object, as they become at a time for what the object says in one generation.
type List struct {
	Conditions *[]metav1.Condition
	Generation int64
	Now        time.Time
}

// Set sets a condition. The time of its last transition changes with its status only. A message over MaxMessage is cut.
func (l List) Set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(l.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: truncate.Message(message, MaxMessage),
		ObservedGeneration: l.Generation, LastTransitionTime: metav1.NewTime(l.Now).Rfc3339Copy(),
	})
}

// Remove removes conditions that are there.
func (l List) Remove(kinds ...string) {
	for _, kind := range kinds {
		meta.RemoveStatusCondition(l.Conditions, kind)
	}
}

// Get returns a condition; nil if there is none.
func (l List) Get(kind string) *metav1.Condition {
	return meta.FindStatusCondition(*l.Conditions, kind)
}

// Status returns the status of a condition; empty if there is none.
func (l List) Status(kind string) metav1.ConditionStatus {
	if condition := l.Get(kind); condition != nil {
		return condition.Status
	}
	return ""
}

// Summarize sets Ready, and with the same reason and message those of Reconciling and Stalled that are named. It removes
// those that are not: kstatus takes either of them, where it is True, for the state of the object.
func (l List) Summarize(ready metav1.ConditionStatus, reason, message string, beside ...string) {
	l.Set(metav1alpha1.ConditionReady, ready, reason, message)
	for _, kind := range []string{metav1alpha1.ConditionReconciling, metav1alpha1.ConditionStalled} {
		if slices.Contains(beside, kind) {
			l.Set(kind, metav1.ConditionTrue, reason, message)
		} else {
			l.Remove(kind)
		}
	}
}

// Current returns a condition of what an object says now; nil if there is none, or it is of another generation.
func Current(list []metav1.Condition, generation int64, kind string) *metav1.Condition {
	condition := meta.FindStatusCondition(list, kind)
	if condition == nil || condition.ObservedGeneration != generation {
		return nil
	}
	return condition
}

// News is a condition whose status or reason is another one than before; nil if there is none.
func News(before, after []metav1.Condition, kind string) *metav1.Condition {
	was, is := meta.FindStatusCondition(before, kind), meta.FindStatusCondition(after, kind)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return nil
	}
	return is
}
