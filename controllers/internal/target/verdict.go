package target

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Verdict says what is the matter with a target. It is an error, whose text is the message.
type Verdict struct {
	Reason  string
	Message string
	// Cause is the error that it comes from; nil if it comes from none.
	Cause error
	// Stalled: no further try helps until a person changes something.
	Stalled bool
}

// Error implements error.
func (v *Verdict) Error() string { return v.Message }

// Unwrap returns the cause.
func (v *Verdict) Unwrap() error { return v.Cause }

// VerdictOfWrites finds the first thing that went wrong with the objects of a target, the most useful to know of first; nil
// if nothing did.
func VerdictOfWrites(p apply.Plan, done apply.Result) *Verdict {
	var unverified *apply.VerificationError
	if errors.As(done.Err, &unverified) {
		return &Verdict{Reason: metav1alpha1.ReasonRefused, Message: unverified.Reason, Cause: done.Err, Stalled: true}
	}
	if done.Err != nil {
		return &Verdict{Reason: metav1alpha1.ReasonFailed, Message: done.Err.Error(), Cause: done.Err}
	}
	if len(p.Conflicts) > 0 {
		return conflictVerdict(p.Conflicts[0].Ref, p.Conflicts[0].Owner)
	}
	failed := done.Failed()
	for _, w := range failed {
		if w.Owner != "" {
			return conflictOfWrite(w)
		}
	}
	for _, w := range failed {
		if !apply.IsReplacing(w.Err) {
			return verdictOfWrite(w, len(failed)-1)
		}
	}
	return verdictOfReplacements(p, failed)
}

// verdictOfReplacements tells what is deleted to be made anew; nil for nothing.
func verdictOfReplacements(p apply.Plan, replacing []apply.Written) *Verdict {
	if len(replacing) > 0 {
		return &Verdict{Reason: metav1alpha1.ReasonWaiting, Message: replacing[0].Err.Error()}
	}
	if len(p.Replacing) > 0 {
		return &Verdict{Reason: metav1alpha1.ReasonWaiting, Message: apply.Names(p.Replacing) + " is being deleted, and made anew when it is gone"}
	}
	return nil
}

// VerdictOfWaits tells what the rest waits for; nil for nothing.
func VerdictOfWaits(done apply.Result) *Verdict {
	if len(done.Awaiting) > 0 {
		return &Verdict{Reason: metav1alpha1.ReasonWaiting, Message: "waiting for " + apply.Names(done.Awaiting) + " to be established"}
	}
	if left := len(done.Postponed); left > 0 {
		return &Verdict{Reason: metav1alpha1.ReasonProgressing, Message: "the cluster is slow: " + plural.Of(left, "object|follows|follow") + " when others had their turn"}
	}
	if len(done.Removing) > 0 {
		return &Verdict{Reason: metav1alpha1.ReasonWaiting, Message: apply.RemovalMessage(done.Removing)}
	}
	return nil
}

func conflictVerdict(ref objects.Ref, owner string) *Verdict {
	return &Verdict{
		Reason: metav1alpha1.ReasonConflict, Stalled: true,
		Message: fmt.Sprintf("%s belongs to %s; remove it there, or from what this policy declares", ref, owner),
	}
}

// conflictOfWrite is about an object that is no target's, and says how people have it adopted.
func conflictOfWrite(w apply.Written) *Verdict {
	verdict := conflictVerdict(w.Ref, w.Owner)
	switch {
	case w.AdoptBy == "":
	case w.Adoption == apply.AdoptNothing:
		verdict.Message = fmt.Sprintf("%s was made by %s: delete it, choose another name, or set %s to take it over", w.Ref, w.Owner, w.AdoptBy)
	case w.ByTool:
		verdict.Message += fmt.Sprintf(", or set %s to take it over", w.AdoptBy)
	}
	return verdict
}

func verdictOfWrite(w apply.Written, others int) *Verdict {
	message := fmt.Sprintf("%s %s: %s", w.Purpose, w.Ref, apply.Explain(w.Ref, w.Err))
	if others > 0 {
		message += fmt.Sprintf(" (and %d more)", others)
	}
	switch {
	case apply.IsTerminating(w.Err):
		return &Verdict{Reason: metav1alpha1.ReasonWaiting, Message: fmt.Sprintf(
			"%s %s waits until Namespace %s is gone, which is being deleted", w.Purpose, w.Ref, w.Namespace)}
	case meta.IsNoMatchError(w.Err):
		return &Verdict{Reason: metav1alpha1.ReasonUnknownKind, Message: message, Stalled: true}
	case apply.IsFinal(w.Err):
		return &Verdict{Reason: metav1alpha1.ReasonRefused, Message: message, Stalled: true}
	}
	return &Verdict{Reason: metav1alpha1.ReasonFailed, Message: message, Cause: w.Err}
}
