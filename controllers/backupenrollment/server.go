package backupenrollment

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

const (
	// askTime is how long Velero may take to answer, and askPoll how often its answer is looked for.
	askTime = time.Minute
	askPoll = time.Second
)

var requestKind = veleroVersion.WithKind("ServerStatusRequest")

// newQuestions are the tasks that ask Velero for its version. One that does not answer is asked again.
func newQuestions() *background.Tasks[string] {
	return background.New[string](func(error) bool { return false })
}

// askServer has Velero asked for its version if that is due, and an answer can be expected.
func (r *Reconciler) askServer(o *observation, cluster *fleet.Cluster) server {
	own, s := o.Status.Velero, server{told: o.Status.Server}
	if o.Suspension.Active || o.Extra.velero.schedule == nil || !isAnswering(o) {
		return s
	}
	// A question is known by the one before it, so its answer is taken up once.
	task := "server"
	if s.told != nil {
		task += " " + s.told.CheckedAt.UTC().Format(time.RFC3339)
	}
	id := background.IDOf(o.Target, task)
	progress := r.questions.Progress(id)
	switch {
	case progress.Done:
		s.told = serverOf(progress.Result, o.Now)
	case progress.Running:
		return s
	case progress.Err != nil && o.Now.Before(progress.Again):
		s.wakeAt = progress.Again
		return s
	}
	if s.wakeAt = askedAt(s.told); o.Now.Before(s.wakeAt) {
		return s
	}
	namespace, name, schedule := own.Namespace, own.Name, o.Extra.velero.schedule.GetUID()
	r.questions.Start(id, o.Now.Add(askTime), func(ctx context.Context) (string, error) {
		return askVersion(ctx, cluster, namespace, name, schedule)
	})
	s.wakeAt = time.Time{}
	return s
}

// askVersion asks Velero by a ServerStatusRequest, which belongs to the Schedule of the enrollment and goes with it.
func askVersion(ctx context.Context, cluster deleter, namespace, name string, schedule types.UID) (string, error) {
	request := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	request.SetGroupVersionKind(requestKind)
	request.SetNamespace(namespace)
	request.SetName(name + "-version")
	request.SetLabels(map[string]string{metav1alpha1.LabelBackup: name})
	request.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: scheduleKind.GroupVersion().String(), Kind: scheduleKind.Kind, Name: name, UID: schedule}})
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
func awaitAnswer(ctx context.Context, cluster deleter, ref objects.Ref) (*unstructured.Unstructured, error) {
	answer := &unstructured.Unstructured{}
	err := wait.PollUntilContextCancel(ctx, askPoll, true, func(ctx context.Context) (bool, error) {
		content, err := cluster.Lookup(ctx, ref)
		if err != nil {
			return false, fmt.Errorf("read %s: %w", ref, err)
		}
		answer.Object = content
		return phaseOf(answer) == string(velerov1.ServerStatusRequestPhaseProcessed), nil
	})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("Velero did not answer %s in time", ref) //nolint:staticcheck // It is a name.
	}
	return answer, err
}
