package backupenrollment

import "github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"

// standardOf is what the policy of an enrollment asks of a backup.
func standardOf(o *observation, known history.AllDetails) history.Standard {
	spec := o.Target.Spec
	s := history.Standard{AcceptPartiallyFailed: spec.AcceptPartiallyFailed, RequireVolumes: spec.RequireVolumes, Details: known}
	if spec.MinItems != nil {
		s.MinItems = int64(*spec.MinItems)
	}
	if last := o.Status.LastSuccessful; last != nil && last.StartedAt != nil {
		s.Recorded = history.IDOf(*last)
	}
	return s
}
