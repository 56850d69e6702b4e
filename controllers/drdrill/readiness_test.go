package drdrill

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/run"
)

func deployment(namespace string, ready int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": namespace, "generation": int64(1)},
		"spec": map[string]any{"replicas": int64(2)},
		"status": map[string]any{
			"observedGeneration": int64(1), "replicas": int64(2), "updatedReplicas": int64(2), "readyReplicas": ready, "availableReplicas": ready,
			"conditions": []any{map[string]any{"type": "Available", "status": "True"}, map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}},
		},
	}}
}

func TestWhenWorkloadsAreReady(t *testing.T) {
	suspended := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "later", "namespace": "shop-drill"}, "spec": map[string]any{"suspend": true},
	}}
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "web-1", "namespace": "shop-drill", "ownerReferences": []any{
			map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "r", "controller": true},
		}},
	}}
	listed := tracker.KindState{Listed: true}
	for name, row := range map[string]struct {
		objects []*unstructured.Unstructured
		state   tracker.KindState
		away    string
		after   time.Duration
		result  backupv1alpha1.CheckResult
		says    string
	}{
		"all are":                             {objects: []*unstructured.Unstructured{deployment("shop-drill", 2)}, state: listed, result: backupv1alpha1.CheckPassed, says: "1 workloads are ready"},
		"there are none":                      {state: listed, result: backupv1alpha1.CheckPassed, says: "0 workloads are ready"},
		"one is not yet":                      {objects: []*unstructured.Unstructured{deployment("shop-drill", 1)}, state: listed, says: "waits until Deployment shop-drill/web is InProgress"},
		"one is not in time":                  {objects: []*unstructured.Unstructured{deployment("shop-drill", 1)}, state: listed, after: time.Hour, result: backupv1alpha1.CheckFailed, says: "1 of 1 workloads are not ready after 1m0s: Deployment"},
		"somebody else's is not":              {objects: []*unstructured.Unstructured{deployment("shop", 1)}, state: listed, after: time.Hour, result: backupv1alpha1.CheckPassed, says: "0 workloads"},
		"a suspended Job, and a pod of other": {objects: []*unstructured.Unstructured{suspended, pod}, state: listed, after: time.Hour, result: backupv1alpha1.CheckPassed, says: "0 workloads"},
		"nothing is seen yet":                 {says: "waits until Deployments: waits for the first list"},
		"the manager starts after the end":    {after: time.Hour, says: "waits until Deployments: waits for the first list"},
		"the cluster does not answer":         {after: time.Hour, away: "no answer", result: backupv1alpha1.CheckNotChecked, says: "Deployments: no answer"},
		"they cannot be listed":               {after: time.Hour, state: tracker.KindState{Unknown: "forbidden"}, result: backupv1alpha1.CheckNotChecked, says: "Deployments: forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			drill := rehearsal(backupv1alpha1.DrillNamespaceMapped, 7)
			observed := map[run.Selection]fleet.Observed{}
			for _, selection := range new(Reconciler).Selections(drill) {
				shown := fleet.Observed{KindState: row.state}
				for _, object := range row.objects {
					if object.GetKind() == selection.Kind.Kind {
						shown.Objects = append(shown.Objects, object)
					}
				}
				observed[selection] = shown
			}
			away := map[types.NamespacedName]string{targetKey(drill): row.away}
			got := readinessOf(run.NewView(drill, noon.Add(row.after), observed, away))
			if got.Result != row.result || !strings.Contains(got.Message, row.says) {
				t.Errorf("got %q: %s; want %q: … %s", got.Result, got.Message, row.result, row.says)
			}
		})
	}
}
