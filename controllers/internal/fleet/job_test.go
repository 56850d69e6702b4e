package fleet

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

func TestADeletionTellsHowAJobEnded(t *testing.T) {
	jobs := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	key := objects.Key{GroupKind: jobs.GroupKind(), Namespace: "cache", Name: "settings"}
	for condition, want := range map[string]tracker.End{"Complete": tracker.Succeeded, "Failed": tracker.Failed, "Suspended": ""} {
		tracker := tracker.New(func(tracker.Owner, bool) {})
		tracker.Claim(release, key)
		watching := &kindWatch{watchLoop: watchLoop{kind: jobs, cluster: &Cluster{Tracker: tracker, connection: &connection{fleet: &Fleet{clock: clock.RealClock{}}}}}}
		if err := watching.handle(watch.Event{Type: watch.Deleted, Object: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "batch/v1", "kind": "Job",
			"metadata": map[string]any{"namespace": "cache", "name": "settings", "uid": "1", "resourceVersion": "12"},
			"status":   map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True"}}},
		}}}); err != nil {
			t.Fatal(err)
		}
		if seen, _ := tracker.Look(key); seen == nil || !seen.Gone || seen.UID != "1" || seen.Health.End != want {
			t.Errorf("%s: it was seen as %+v, want it gone and %q", condition, seen, want)
		}
	}
}
