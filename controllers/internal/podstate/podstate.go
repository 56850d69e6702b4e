// Package podstate says why pods do not run, as a person would look for it. What programs and registries say themselves is
// left out: it may be secret. It is pure.
package podstate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// maxText bounds in bytes what is told of an image or of the scheduler's reason, which are from the workload cluster.
const maxText = 256

// Describe says why a pod is not done.
func Describe(pod *corev1.Pod) []string {
	states := reasons(pod)
	if len(states) == 0 {
		state := fmt.Sprintf("pod %s is %s", pod.Name, pod.Status.Phase)
		if pod.Status.Reason != "" {
			state += " (" + truncate.Cut(pod.Status.Reason, maxText) + ")"
		}
		states = append(states, state)
	}
	return states
}

// FirstReason says why the first of the pods that are not ready is not; empty if all are.
func FirstReason(pods []corev1.Pod) string {
	for i := range pods {
		if pods[i].DeletionTimestamp != nil || isReady(&pods[i]) {
			continue
		}
		return Describe(&pods[i])[0]
	}
	return ""
}

func isReady(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

func reasons(pod *corev1.Pod) (states []string) {
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if state := ofContainer(pod, &container); state != "" {
			states = append(states, state)
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			states = append(states, fmt.Sprintf("pod %s is not scheduled: %s", pod.Name, truncate.Message(condition.Message, maxText)))
		}
	}
	return states
}

func ofContainer(pod *corev1.Pod, container *corev1.ContainerStatus) string {
	state, last := container.State, container.LastTerminationState.Terminated
	switch {
	case state.Terminated != nil && state.Terminated.ExitCode != 0:
		return fmt.Sprintf("container %s of pod %s ended with exit code %d (%s)", container.Name, pod.Name, state.Terminated.ExitCode, state.Terminated.Reason)
	case state.Waiting != nil && last != nil:
		return fmt.Sprintf("container %s of pod %s is waiting (%s); it ended with exit code %d (%s) before",
			container.Name, pod.Name, state.Waiting.Reason, last.ExitCode, last.Reason)
	case state.Waiting != nil:
		return fmt.Sprintf("container %s of pod %s is waiting (%s)%s", container.Name, pod.Name, state.Waiting.Reason, imageOf(pod, container.Name, state.Waiting.Reason))
	case state.Running != nil && !container.Ready && pod.Status.Phase == corev1.PodRunning:
		return fmt.Sprintf("container %s of pod %s runs, and is not ready: its readiness probe does not succeed", container.Name, pod.Name)
	}
	return ""
}

// imageOf names the image of a container that waits for it.
func imageOf(pod *corev1.Pod, name, reason string) string {
	if reason != "ImagePullBackOff" && reason != "ErrImagePull" && reason != "InvalidImageName" {
		return ""
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if container.Name == name {
			return ": image " + truncate.Cut(container.Image, maxText)
		}
	}
	return ""
}
