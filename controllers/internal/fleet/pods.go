package fleet

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// PodStates says why the pods of a Job, or the one Pod of that name, are not done, as a person would look for it.
func (c *Cluster) PodStates(ctx context.Context, ref objects.Ref) ([]string, error) {
	selector := "job-name=" + ref.Name
	if ref.Kind == "Pod" {
		selector = ""
	}
	pods, err := c.pods(ctx, ref.Namespace, selector)
	var states []string
	for i := range pods {
		if ref.Kind == "Pod" && pods[i].Name != ref.Name {
			continue
		}
		states = append(states, describePod(&pods[i])...)
	}
	return states, err
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
