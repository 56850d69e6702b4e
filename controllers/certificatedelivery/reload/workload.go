package reload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Kinds of workloads that are restarted.
var (
	deployments  = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	statefulSets = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	daemonSets   = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}
)

// workload is what is looked at of a Deployment, a StatefulSet or a DaemonSet.
type workload struct {
	objects.Ref
	uid        types.UID
	generation int64
	deleted    bool
	spec       workloadSpec
	status     workloadStatus
}

// workloadSpec has the fields of all three kinds.
type workloadSpec struct {
	Replicas       *int32                 `json:"replicas,omitempty"`
	Paused         bool                   `json:"paused,omitempty"`
	UpdateStrategy updateStrategy         `json:"updateStrategy,omitempty"`
	Template       corev1.PodTemplateSpec `json:"template"`
}

type updateStrategy struct {
	Type          string `json:"type,omitempty"`
	RollingUpdate *struct {
		Partition *int32 `json:"partition,omitempty"`
	} `json:"rollingUpdate,omitempty"`
}

// workloadStatus has the fields of all three kinds.
type workloadStatus struct {
	ObservedGeneration     int64       `json:"observedGeneration,omitempty"`
	Replicas               int32       `json:"replicas,omitempty"`
	UpdatedReplicas        int32       `json:"updatedReplicas,omitempty"`
	ReadyReplicas          int32       `json:"readyReplicas,omitempty"`
	AvailableReplicas      int32       `json:"availableReplicas,omitempty"`
	DesiredNumberScheduled int32       `json:"desiredNumberScheduled,omitempty"`
	UpdatedNumberScheduled int32       `json:"updatedNumberScheduled,omitempty"`
	NumberAvailable        int32       `json:"numberAvailable,omitempty"`
	Conditions             []condition `json:"conditions,omitempty"`
}

type condition struct {
	Type   string `json:"type,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// read takes a workload out of what a cluster answered.
func read(kind schema.GroupVersionKind, object *unstructured.Unstructured) (workload, error) {
	found := workload{
		Ref: objects.Ref{GroupVersionKind: kind, Namespace: object.GetNamespace(), Name: object.GetName()},
		uid: object.GetUID(), generation: object.GetGeneration(), deleted: object.GetDeletionTimestamp() != nil,
	}
	for _, part := range []struct {
		field string
		into  any
	}{{"spec", &found.spec}, {"status", &found.status}} {
		content, _ := object.Object[part.field].(map[string]any)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, part.into); err != nil {
			return found, fmt.Errorf("%s of %s cannot be read: %w", part.field, found.Ref, err)
		}
	}
	return found, nil
}

// replicas that are to run.
func (w workload) replicas() int32 {
	switch {
	case w.Kind == daemonSets.Kind:
		return w.status.DesiredNumberScheduled
	case w.spec.Replicas == nil:
		return 1
	}
	return *w.spec.Replicas
}

func (w workload) annotation(name string) string {
	return w.spec.Template.Annotations[name]
}

func (s workloadStatus) hasReason(kind, reason string) bool {
	for _, one := range s.Conditions {
		if one.Type == kind && one.Reason == reason {
			return true
		}
	}
	return false
}
