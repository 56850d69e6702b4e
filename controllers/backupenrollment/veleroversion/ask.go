package veleroversion

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// askPoll is how often the answer of Velero is looked for.
const askPoll = time.Second

var requestKind = veleroobjects.GroupVersion.WithKind("ServerStatusRequest")

// Cluster is what a question needs of a workload cluster. A *fleet.Cluster is one.
type Cluster interface {
	// Confirm makes sure that it is the cluster that it was.
	Confirm(ctx context.Context) error
	// Lookup reads a whole object.
	Lookup(ctx context.Context, ref objects.Ref) (map[string]any, error)
	// Create creates an object from JSON.
	Create(ctx context.Context, ref objects.Ref, body []byte) (*metav1.PartialObjectMetadata, error)
	// Delete deletes the object that has the UID.
	Delete(ctx context.Context, ref objects.Ref, uid types.UID) error
}

// Ask asks Velero by a ServerStatusRequest, which belongs to the Schedule of the enrollment and goes with it.
func Ask(ctx context.Context, cluster Cluster, namespace, name string, schedule types.UID) (string, error) {
	request := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	request.SetGroupVersionKind(requestKind)
	request.SetNamespace(namespace)
	request.SetName(name + "-version")
	request.SetLabels(map[string]string{metav1alpha1.LabelBackup: name})
	request.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: veleroobjects.ScheduleKind.GroupVersion().String(), Kind: veleroobjects.ScheduleKind.Kind, Name: name, UID: schedule}})
	body, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	if err := cluster.Confirm(ctx); err != nil {
		return "", err
	}
	ref := objects.RefOf(request)
	if _, err := cluster.Create(ctx, ref, body); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("ask Velero for its version: %w", err)
	}
	answer, err := awaitAnswer(ctx, cluster, ref)
	if err != nil {
		return "", err
	}
	uid := types.UID(answer.GetUID())
	if err := cluster.Delete(ctx, ref, uid); err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("delete %s: %w", ref, err)
	}
	told, _, _ := unstructured.NestedString(answer.Object, "status", "serverVersion")
	return told, nil
}

// awaitAnswer waits until Velero has answered, or until the context ends.
func awaitAnswer(ctx context.Context, cluster Cluster, ref objects.Ref) (*unstructured.Unstructured, error) {
	answer := &unstructured.Unstructured{}
	err := wait.PollUntilContextCancel(ctx, askPoll, true, func(ctx context.Context) (bool, error) {
		content, err := cluster.Lookup(ctx, ref)
		if err != nil {
			return false, fmt.Errorf("read %s: %w", ref, err)
		}
		answer.Object = content
		return veleroobjects.PhaseOf(answer) == string(velerov1.ServerStatusRequestPhaseProcessed), nil
	})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("Velero did not answer %s in time", ref) //nolint:staticcheck // It is a name.
	}
	return answer, err
}
