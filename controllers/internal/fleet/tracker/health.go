package tracker

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Health is what kstatus says of an object.
type Health struct {
	Status  status.Status
	Message string
	// End is how what runs to its end came out: Jobs and Pods. kstatus calls a Job current as soon as it
	// runs.
	End End
}

// End of what runs to its end.
type End string

// Ends; empty while it runs, and for what never ends.
const (
	Succeeded End = "Succeeded"
	Failed    End = "Failed"
)

// requiredConditions are those that say of a kind that it works, where kstatus does not know of them.
var requiredConditions = map[schema.GroupKind]string{
	{Group: "apiregistration.k8s.io", Kind: "APIService"}: "Available",
}

// HealthOf computes the health of a whole object.
func HealthOf(object *unstructured.Unstructured) Health {
	result, err := status.Compute(object)
	if err != nil {
		return Health{Status: status.UnknownStatus, Message: err.Error()}
	}
	if result.Status != status.CurrentStatus {
		return Health{Status: result.Status, Message: result.Message, End: endOf(object)}
	}
	if required, ok := requiredConditions[object.GroupVersionKind().GroupKind()]; ok {
		return healthOfCondition(object, required)
	}
	return Health{Status: status.CurrentStatus, End: endOf(object)}
}

// healthOfCondition is for kinds that work as long as a condition is True.
func healthOfCondition(object *unstructured.Unstructured, required string) Health {
	for _, condition := range conditionsOf(object) {
		switch {
		case condition["type"] != required:
		case condition["status"] == string(corev1.ConditionTrue):
			return Health{Status: status.CurrentStatus}
		default:
			return Health{Status: status.InProgressStatus, Message: fmt.Sprintf("condition %s is %v (%v): %v", required, condition["status"], condition["reason"], condition["message"])}
		}
	}
	return Health{Status: status.InProgressStatus, Message: "condition " + required + " is not reported yet"}
}

func conditionsOf(object *unstructured.Unstructured) []map[string]any {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	conditions := make([]map[string]any, 0, len(list))
	for _, one := range list {
		if condition, ok := one.(map[string]any); ok {
			conditions = append(conditions, condition)
		}
	}
	return conditions
}

// endOf reads the phase of a Pod, and the conditions of a Job.
func endOf(object *unstructured.Unstructured) End {
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Pod"}:
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		if phase == string(corev1.PodSucceeded) || phase == string(corev1.PodFailed) {
			return End(phase)
		}
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		for _, condition := range conditionsOf(object) {
			if condition["status"] != string(corev1.ConditionTrue) {
				continue
			}
			switch condition["type"] {
			case string(batchv1.JobComplete):
				return Succeeded
			case string(batchv1.JobFailed):
				return Failed
			}
		}
	}
	return ""
}

// HealthOfMetadata is for kinds without a status: they are fine as soon as they exist.
func HealthOfMetadata(object metav1.Object) Health {
	if object.GetDeletionTimestamp() != nil {
		return Health{Status: status.TerminatingStatus, Message: "is being deleted"}
	}
	return Health{Status: status.CurrentStatus}
}
