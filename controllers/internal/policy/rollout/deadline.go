package rollout

import (
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// isFailed is whether the pair's target failed, or is not Ready though its deadline has passed.
func (in *Input) isFailed(p pair) bool {
	return p.target != nil && (p.target.State == Failed || in.isOverdue(p))
}

// hasFailed is whether that is so and stays so: a target whose settings are about to be written starts anew.
func (in *Input) hasFailed(p pair) bool { return in.isFailed(p) && p.target.SettingsCurrent }

// isOverdue is whether the pair's target is not Ready though its deadline has passed.
func (in *Input) isOverdue(p pair) bool {
	deadline := in.deadline(p)
	return !deadline.IsZero() && !in.Now.Before(deadline)
}

// deadline is when the pair's target has to be Ready; zero if it is, or if there is none.
func (in *Input) deadline(p pair) time.Time {
	switch {
	case in.Policy.ProgressDeadline == 0 || !p.cluster.Connected || p.target == nil || p.target.Deleting:
	case p.target.State == Ready || p.target.Since.IsZero() || p.isPaused(&in.Policy):
	default:
		return p.target.Since.Add(in.Policy.ProgressDeadline)
	}
	return time.Time{}
}

// firstDeadline is when the next deadline of a target passes; zero for never.
func (in *Input) firstDeadline(pairs []pair) (next time.Time) {
	for _, p := range pairs {
		if deadline := in.deadline(p); deadline.After(in.Now) {
			next = times.Earliest(next, deadline)
		}
	}
	return next
}

// failure is what the target says that failed, and that it was to be Ready before.
func (in *Input) failure(p pair) string {
	if p.target.State == Failed || !in.isOverdue(p) {
		return p.target.Message
	}
	text := "not Ready within " + in.Policy.ProgressDeadline.String() + " (spec.rollout.progressDeadline)"
	if p.target.Message == "" {
		return text
	}
	return text + ": " + p.target.Message
}
