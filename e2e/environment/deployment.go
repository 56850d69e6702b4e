package environment

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SetAvailable plays the controller of a Deployment in a cluster where nothing runs: it says whether the one replica of its first
// generation is available. A Deployment without both conditions is never ready.
func SetAvailable(ctx context.Context, workload client.Client, deployment client.ObjectKey, available bool) error {
	replicas, is := 0, metav1.ConditionFalse
	if available {
		replicas, is = 1, metav1.ConditionTrue
	}
	patch := fmt.Sprintf(`{"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"readyReplicas":%[1]d,"availableReplicas":%[1]d,"conditions":[
		{"type":"Available","status":%[2]q},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]}}`, replicas, is)
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: deployment.Namespace, Name: deployment.Name}}
	return workload.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))
}
