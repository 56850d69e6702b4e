package run

import "errors"

// Refusal ends a task that no other try would mend.
type Refusal struct{ Message string }

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

func isRefusal(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal)
}
