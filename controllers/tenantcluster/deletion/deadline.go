package deletion

import (
	"time"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// deadlineOf a step that began then; zero for as long as it takes.
func (s Situation) deadlineOf(step tenancyv1alpha1.DeletionStep, since time.Time) time.Time {
	timeout := s.Cluster.DeletionTimeout()
	switch step {
	case tenancyv1alpha1.DeletionStoppingDrills, tenancyv1alpha1.DeletionFinalBackup:
		if s.silent() {
			return s.countsFrom().Add(timeout / 2)
		}
	case tenancyv1alpha1.DeletionRemovingTargets:
		limit := s.Cluster.AddonsTimeout()
		switch {
		case s.silent() && s.ordered():
			return s.shared(since, limit, limit-timeout/2)
		case s.silent():
			// There was no limit while it answered, so what came before it fell silent takes no time away.
			return times.Latest(s.countsFrom().Add(limit), since.Add(limit-timeout/2))
		case s.ordered():
			return since.Add(limit)
		}
	case tenancyv1alpha1.DeletionRemovingCluster:
		if s.silent() {
			return s.shared(since, timeout, timeout/4)
		}
		return since.Add(timeout)
	}
	return time.Time{}
}

// countsFrom is when a cluster that does not answer began to hold the deletion up.
func (s Situation) countsFrom() time.Time { return times.Latest(s.deleted(), s.Unreachable.Since) }

// shared is the deadline of a step in an ordered cluster that does not answer: until so much of the time is over in
// all, but no longer than if it answered, and no shorter than what is the step's in any case.
func (s Situation) shared(since time.Time, overall, least time.Duration) time.Time {
	return times.Latest(times.Earliest(s.countsFrom().Add(overall), since.Add(overall)), since.Add(least))
}
