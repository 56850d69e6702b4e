package fleet

import (
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Health is what kstatus says of an object.
type Health struct {
	Status  status.Status
	Message string
}

// healthOf computes the health of a whole object.
func healthOf(object *unstructured.Unstructured) Health {
	result, err := status.Compute(object)
	if err != nil {
		return Health{Status: status.UnknownStatus, Message: err.Error()}
	}
	if result.Status == status.CurrentStatus {
		return Health{Status: status.CurrentStatus}
	}
	return Health{Status: result.Status, Message: result.Message}
}

// healthOfMetadata is for kinds without a status: they are fine as soon as they exist.
func healthOfMetadata(object metav1.Object) Health {
	if object.GetDeletionTimestamp() != nil {
		return Health{Status: status.TerminatingStatus, Message: "is being deleted"}
	}
	return Health{Status: status.CurrentStatus}
}
