package podstate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestThePodsOwnReasonIsTold(t *testing.T) {
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "hunter2"}}
	}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", Message: "hunter2"}}
	for want, status := range map[string]corev1.PodStatus{
		"pod web-1 is not scheduled: 0/3 nodes are available: 3 Insufficient cpu.": {Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient cpu."}}},
		"container app of pod web-1 is waiting (ImagePullBackOff): image registry/app:typo": {Phase: corev1.PodPending,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: waiting("ImagePullBackOff")}}},
		"container app of pod web-1 is waiting (CrashLoopBackOff); it ended with exit code 3 (Error) before": {Phase: corev1.PodRunning,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: waiting("CrashLoopBackOff"), LastTerminationState: ended}}},
		"container app of pod web-1 runs, and is not ready: its readiness probe does not succeed": {Phase: corev1.PodRunning,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}},
		"container app of pod web-1 ended with exit code 3 (Error)": {Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: ended}}},
		"pod web-1 is Failed (Evicted)":                             {Phase: corev1.PodFailed, Reason: "Evicted"},
		"":                                                          {Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}, Status: status}
		pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "registry/app:typo"}}
		if got := FirstReason([]corev1.Pod{pod}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
