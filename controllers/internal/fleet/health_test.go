package fleet

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// withCondition is an object with one condition.
func withCondition(apiVersion, kind, condition, is string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"namespace": "cache", "name": "settings", "uid": "1", "resourceVersion": "12"},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": condition, "status": is, "reason": "Tested", "message": "as it is"}}},
	}}
}

func TestADeletionTellsHowAJobEnded(t *testing.T) {
	jobs := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	key := objects.Key{GroupKind: jobs.GroupKind(), Namespace: "cache", Name: "settings"}
	for condition, want := range map[string]End{"Complete": Succeeded, "Failed": Failed, "Suspended": ""} {
		tracker := NewTracker(func(Owner, bool) {})
		tracker.Claim(release, key)
		watching := &kindWatch{watchLoop: watchLoop{kind: jobs, cluster: &Cluster{Tracker: tracker, connection: &connection{fleet: &Fleet{clock: clock.RealClock{}}}}}}
		if err := watching.handle(watch.Event{Type: watch.Deleted, Object: withCondition("batch/v1", "Job", condition, "True")}); err != nil {
			t.Fatal(err)
		}
		if seen, _ := tracker.Look(key); seen == nil || !seen.Gone || seen.UID != "1" || seen.Health.End != want {
			t.Errorf("%s: it was seen as %+v, want it gone and %q", condition, seen, want)
		}
	}
}

func TestAnAPIServiceIsCurrentWhenItIsAvailable(t *testing.T) {
	for is, want := range map[string]status.Status{"True": status.CurrentStatus, "False": status.InProgressStatus, "Unknown": status.InProgressStatus} {
		health := healthOf(withCondition("apiregistration.k8s.io/v1", "APIService", "Available", is))
		if health.Status != want || want != status.CurrentStatus && health.Message != "condition Available is "+is+" (Tested): as it is" {
			t.Errorf("Available is %s: got %+v", is, health)
		}
	}
	if health := healthOf(withCondition("apiregistration.k8s.io/v1", "APIService", "Other", "True")); health.Status != status.InProgressStatus {
		t.Errorf("Available is not reported: got %+v", health)
	}
}
