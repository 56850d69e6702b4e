package action

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Verdict says what became of an object that an action made.
type Verdict struct {
	// Outcome of the action; empty while it is under way.
	Outcome metav1alpha1.ActionOutcome
	// Message says more about it.
	Message string
}

// Situation is what is known of an action that is under way.
type Situation struct {
	Action metav1alpha1.Action
	Now    time.Time
	// ClusterID is the identity of the connected cluster; empty if none is connected.
	ClusterID types.UID
	// Unknown says why it is not known what is in the cluster; empty if it is.
	Unknown string
	// Pending: a watch is about to show what is in the cluster, as after a start of the manager. The deadline waits for that:
	// the object may have done its work in time.
	Pending bool
	// Object as a watch shows it; nil if the watch shows none.
	Object *unstructured.Unstructured
	// Decide says what became of an object.
	Decide func(*unstructured.Unstructured) Verdict
}

// Step is what is to be done in the cluster.
type Step string

// Steps.
const (
	// Wait for the watch, the connection or the deadline.
	Wait Step = ""
	// Make the object.
	Make Step = "Make"
	// Look whether the object is gone, since the watch does not show it.
	Look Step = "Look"
)

// Next returns the action as it becomes by what is known, what is to be done in the cluster, and what is awaited. An action
// has ended if it has an outcome.
func (s Situation) Next() (next metav1alpha1.Action, step Step, awaited string) {
	a := s.Action
	ref, err := objects.ParseID(a.Object)
	switch {
	case err != nil:
		return s.end(metav1alpha1.ActionFailed, err.Error()), Wait, ""
	case s.ClusterID != "" && string(s.ClusterID) != a.ClusterID:
		return s.end(metav1alpha1.ActionFailed, fmt.Sprintf("TenantCluster %s/%s leads to another cluster than when the action began",
			a.ClusterRef.Namespace, a.ClusterRef.Name)), Wait, ""
	case s.Object != nil:
		return s.decide(ref)
	case s.isDue() && !s.Pending:
		return s.end(metav1alpha1.ActionTimedOut, s.timedOut(ref)), Wait, ""
	case s.Unknown != "":
		return a, Wait, s.Unknown
	case a.UID == "":
		return a, Make, ""
	}
	return a, Look, fmt.Sprintf("%s is made", ref)
}

// decide takes in what the watch shows of the object. That it has done its work counts also after the deadline.
func (s Situation) decide(ref objects.Ref) (metav1alpha1.Action, Step, string) {
	a := s.Action
	if a.UID != "" && a.UID != string(s.Object.GetUID()) {
		return s.end(metav1alpha1.ActionFailed, fmt.Sprintf("somebody else removed %s, and made another one", ref)), Wait, ""
	}
	a.UID = string(s.Object.GetUID())
	s.Action = a
	judged := s.Decide(s.Object)
	switch {
	case judged.Outcome != "":
		return s.end(judged.Outcome, judged.Message), Wait, ""
	case s.isDue():
		return s.end(metav1alpha1.ActionTimedOut, s.timedOut(ref)+": "+judged.Message), Wait, ""
	}
	return a, Wait, fmt.Sprintf("%s: %s", ref, judged.Message)
}

func (s Situation) isDue() bool { return !s.Now.Before(s.Action.Deadline.Time) }

func (s Situation) end(outcome metav1alpha1.ActionOutcome, message string) metav1alpha1.Action {
	return End(s.Action, outcome, message, s.Now)
}

func (s Situation) timedOut(ref objects.Ref) string {
	message := fmt.Sprintf("%s did not end within %s", ref, s.Action.Deadline.Sub(s.Action.StartedAt.Time))
	if s.Unknown != "" {
		message += ": " + s.Unknown
	}
	return message
}
