package run

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
)

// report sets the conditions of a status. It is pure.
func report(status *metav1alpha1.RunStatus, generation int64, now time.Time, done result) {
	status.ObservedGeneration = generation
	list := conditions.List{Conditions: &status.Conditions, Generation: generation, Now: now}
	switch {
	case done.err != nil:
		list.Summarize(metav1.ConditionUnknown, secretaccess.Reason(done.err, metav1alpha1.ReasonFailed), fmt.Sprintf("%sthe last try failed, and is repeated: %s", outcomeOf(status), done.err), metav1alpha1.ConditionReconciling)
	case status.Outcome == "":
		list.Summarize(metav1.ConditionUnknown, metav1alpha1.ReasonProgressing, orUnderWay(done.awaits), metav1alpha1.ConditionReconciling)
	case status.FinishedAt == nil && done.lingers.IsZero():
		list.Summarize(metav1.ConditionUnknown, metav1alpha1.ReasonDeleting, outcomeOf(status)+orUnderWay(done.awaits), metav1alpha1.ConditionReconciling)
	case status.Outcome == metav1alpha1.RunSucceeded:
		list.Summarize(metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, lingering(status.Message, done.lingers))
	case status.Outcome == metav1alpha1.RunCancelled:
		list.Summarize(metav1.ConditionFalse, metav1alpha1.ReasonCancelled, lingering(status.Message, done.lingers), metav1alpha1.ConditionStalled)
	default:
		list.Summarize(metav1.ConditionFalse, metav1alpha1.ReasonFailed, lingering(status.Message, done.lingers), metav1alpha1.ConditionStalled)
	}
}

// outcomeOf says how a run ended whose objects are being removed; empty for one that is under way.
func outcomeOf(status *metav1alpha1.RunStatus) string {
	if status.Outcome == "" {
		return ""
	}
	text := string(status.Outcome)
	if status.Message != "" {
		text += " (" + status.Message + ")"
	}
	return text + "; "
}

// lingering adds until when what a run made stays where it is.
func lingering(message string, until time.Time) string {
	if until.IsZero() {
		return message
	}
	return fmt.Sprintf("%s; what it made stays until %s, or until it is deleted", message, until.UTC().Format(time.RFC3339))
}

func orUnderWay(awaits string) string {
	if awaits == "" {
		return "under way"
	}
	return awaits
}
