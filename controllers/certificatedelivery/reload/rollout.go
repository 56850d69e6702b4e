package reload

import "fmt"

// unfinished says what the rollout of a workload waits for, as kubectl rollout status decides; empty if all pods are of the
// template as it is.
func (w workload) unfinished() string {
	updated, available := w.status.UpdatedReplicas, w.status.AvailableReplicas
	switch w.Kind {
	case daemonSets.Kind:
		updated, available = w.status.UpdatedNumberScheduled, w.status.NumberAvailable
	case statefulSets.Kind:
		available = w.status.ReadyReplicas
	}
	wanted := w.replicas()
	switch {
	case w.status.ObservedGeneration == 0 || w.status.ObservedGeneration < w.generation:
		return "its controller has not seen the change yet"
	case updated < wanted:
		return fmt.Sprintf("%d of %d pods are updated%s", updated, wanted, w.hint())
	case w.Kind == deployments.Kind && w.status.Replicas > updated:
		return fmt.Sprintf("%d old pods have not ended", w.status.Replicas-updated)
	case available < wanted:
		return fmt.Sprintf("%d of %d updated pods are available%s", available, wanted, w.hint())
	}
	return ""
}

// hint says what keeps a workload from replacing its pods; empty where nothing does.
func (w workload) hint() string {
	strategy := w.spec.UpdateStrategy
	switch {
	case w.spec.Paused:
		return "; it is paused: resume it"
	case strategy.Type == "OnDelete":
		return "; its updateStrategy is OnDelete: delete its pods"
	case strategy.RollingUpdate != nil && strategy.RollingUpdate.Partition != nil && *strategy.RollingUpdate.Partition > 0:
		return fmt.Sprintf("; its partition keeps %d pods as they are: lower it", min(*strategy.RollingUpdate.Partition, w.replicas()))
	case w.status.hasReason("Progressing", "ProgressDeadlineExceeded"):
		return "; it exceeded its progress deadline: look at its pods"
	}
	return ""
}
