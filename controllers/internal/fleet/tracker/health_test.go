package tracker

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
)

// withCondition is an object with one condition.
func withCondition(apiVersion, kind, condition, is string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"namespace": "cache", "name": "settings", "uid": "1", "resourceVersion": "12"},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": condition, "status": is, "reason": "Tested", "message": "as it is"}}},
	}}
}

func TestAnAPIServiceIsCurrentWhenItIsAvailable(t *testing.T) {
	for is, want := range map[string]status.Status{"True": status.CurrentStatus, "False": status.InProgressStatus, "Unknown": status.InProgressStatus} {
		health := HealthOf(withCondition("apiregistration.k8s.io/v1", "APIService", "Available", is))
		if health.Status != want || want != status.CurrentStatus && health.Message != "condition Available is "+is+" (Tested): as it is" {
			t.Errorf("Available is %s: got %+v", is, health)
		}
	}
	if health := HealthOf(withCondition("apiregistration.k8s.io/v1", "APIService", "Other", "True")); health.Status != status.InProgressStatus {
		t.Errorf("Available is not reported: got %+v", health)
	}
}
