package target

import (
	"errors"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/recordable"
)

// VerdictOfProblem says what keeps the desired objects of a target from being known; nil for no problem. A kind's own
// Verdict stands. What is of no known sort may pass.
func VerdictOfProblem(problem error) *Verdict {
	if problem == nil {
		return nil
	}
	var verdict *Verdict
	var unknown *apply.UnknownKindError
	var unrecordable *recordable.Error
	switch {
	case secretaccess.Of(problem) != nil:
		return &Verdict{Reason: metav1alpha1.ReasonSecretsNotReadable, Message: problem.Error(), Cause: problem, Stalled: true}
	case errors.As(problem, &verdict):
		return verdict
	case errors.As(problem, &unknown):
		return &Verdict{Reason: metav1alpha1.ReasonUnknownKind, Message: problem.Error(), Stalled: true}
	case errors.As(problem, &unrecordable):
		return &Verdict{Reason: metav1alpha1.ReasonStatusTooLarge, Message: problem.Error(), Stalled: true}
	case errors.Is(problem, revision.ErrNotFound) || errors.Is(problem, revision.ErrTorn):
		return &Verdict{
			Reason: metav1alpha1.ReasonRevisionNotFound, Stalled: true, Cause: problem,
			Message: problem.Error() + "; change the policy, or remove what is left of the revision, to have one written again",
		}
	}
	return &Verdict{Reason: metav1alpha1.ReasonFailed, Message: problem.Error(), Cause: problem}
}
