package helm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// podState says of a hook's pods what a person would look for: which container, and why.
func (h *hookRunner) podState(ctx context.Context, one Hook, what string) string {
	selector := "job-name=" + one.Name
	if one.Kind == "Pod" {
		selector = ""
	}
	pods, err := h.Cluster.Pods(ctx, one.Namespace, selector)
	if err != nil {
		return what + "; its pods could not be read: " + err.Error()
	}
	var states []string
	for i := range pods {
		if one.Kind == "Pod" && pods[i].Name != one.Name {
			continue
		}
		states = append(states, describePod(&pods[i])...)
	}
	if len(states) == 0 {
		return what + "; it has no pods"
	}
	return what + "; " + strings.Join(states[:min(len(states), 3)], "; ")
}

// describePod says why a pod is not done. What programs say themselves is left out: it may be secret.
func describePod(pod *corev1.Pod) []string {
	var states []string
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		switch {
		case container.State.Terminated != nil && container.State.Terminated.ExitCode != 0:
			ended := container.State.Terminated
			states = append(states, fmt.Sprintf("container %s of pod %s ended with exit code %d (%s)", container.Name, pod.Name, ended.ExitCode, ended.Reason))
		case container.State.Waiting != nil:
			states = append(states, fmt.Sprintf("container %s of pod %s is waiting (%s)", container.Name, pod.Name, container.State.Waiting.Reason))
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			states = append(states, fmt.Sprintf("pod %s is not scheduled: %s", pod.Name, condition.Message))
		}
	}
	if len(states) == 0 {
		state := fmt.Sprintf("pod %s is %s", pod.Name, pod.Status.Phase)
		if pod.Status.Reason != "" {
			state += " (" + pod.Status.Reason + ")"
		}
		states = append(states, state)
	}
	return states
}
