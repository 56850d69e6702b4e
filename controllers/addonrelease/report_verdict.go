package addonrelease

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	release "helm.sh/helm/v4/pkg/release/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// verdict says what is the matter with a release. It is an error, whose text is the message.
type verdict struct {
	reason  string
	message string
	// cause is the error that it comes from; nil if it comes from none.
	cause error
	// stalled: no further try helps until a person changes something.
	stalled bool
}

// Error implements error.
func (v *verdict) Error() string { return v.message }

// Unwrap returns the cause.
func (v *verdict) Unwrap() error { return v.cause }

// judge finds the first thing that is wrong, the most useful to know of first.
func judge(o observation, p plan, done result) *verdict {
	if o.problem != nil {
		return judgeProblem(o.problem)
	}
	if done.Err != nil {
		return &verdict{reason: metav1alpha1.ReasonFailed, message: done.Err.Error(), cause: done.Err}
	}
	if len(p.Conflicts) > 0 {
		return conflictVerdict(p.Conflicts[0].Ref, p.Conflicts[0].Holder)
	}
	failed := done.Failed()
	for _, w := range failed {
		if w.Owner != "" {
			return conflictVerdict(w.Ref, w.Owner)
		}
	}
	for _, w := range failed {
		return judgeWrite(w, len(failed)-1)
	}
	if done.helm.Hook != nil {
		return judgeHook(*done.helm.Hook)
	}
	if len(done.Awaiting) > 0 {
		return &verdict{reason: addonsv1alpha1.ReasonWaiting, message: "waiting for " + apply.Names(done.Awaiting) + " to be established"}
	}
	if len(done.Removing) > 0 {
		return &verdict{reason: addonsv1alpha1.ReasonWaiting, message: apply.RemovalMessage(done.Removing)}
	}
	return nil
}

func judgeHook(hook helm.HookReport) *verdict {
	if hook.Run.Phase == addonsv1alpha1.HookFailed {
		return &verdict{
			reason: addonsv1alpha1.ReasonHookFailed, stalled: true,
			message: fmt.Sprintf("%s; it is tried again after %s, or at once with the annotation %s%s",
				hook, apply.RetryStalled, metav1alpha1.AnnotationRequestedAt, wayOut(hook.Run.Event)),
		}
	}
	return &verdict{reason: addonsv1alpha1.ReasonHookRunning, message: hook.String()}
}

// wayOut says how an add-on ends though a hook of its deletion does not.
func wayOut(event string) string {
	if event != string(release.HookPreDelete) && event != string(release.HookPostDelete) {
		return ""
	}
	return fmt.Sprintf("; to end without hooks, set the annotation %s: \"true\" on this AddonRelease, or deletionPolicy: Orphan in its SaaSAddon to leave everything in the cluster",
		metav1alpha1.AnnotationSkipDeleteHooks)
}

// mayPass is whether another try may do where a problem kept the desired objects from being known.
func mayPass(problem error) bool { return !judgeProblem(problem).stalled }

func judgeProblem(problem error) *verdict {
	var foreign *helm.ForeignReleaseError
	var shared *sharedReleaseError
	if errors.As(problem, &foreign) || errors.As(problem, &shared) {
		return &verdict{reason: addonsv1alpha1.ReasonConflict, message: problem.Error(), stalled: true}
	}
	var unknown *apply.UnknownKindError
	var tooMany *tooManyError
	var unrecordable *unrecordableError
	reason, isRender := render.ReasonOf(problem)
	switch {
	case isRender:
		return &verdict{reason: renderReasons[reason], message: problem.Error(), stalled: true}
	case errors.As(problem, &unknown):
		return &verdict{reason: addonsv1alpha1.ReasonUnknownKind, message: problem.Error(), stalled: true}
	case errors.As(problem, &unrecordable):
		return &verdict{reason: addonsv1alpha1.ReasonStatusTooLarge, message: problem.Error(), stalled: true}
	case errors.As(problem, &tooMany):
		return &verdict{reason: addonsv1alpha1.ReasonInvalidManifest, message: problem.Error(), stalled: true}
	case errors.Is(problem, revision.ErrNotFound), errors.Is(problem, revision.ErrTorn):
		return &verdict{
			reason: addonsv1alpha1.ReasonRevisionNotFound, stalled: true,
			message: problem.Error() + "; change the SaaSAddon, or remove what is left of the revision, to have one written again",
		}
	}
	return &verdict{reason: metav1alpha1.ReasonFailed, message: problem.Error(), cause: problem}
}

var renderReasons = map[render.Reason]string{
	render.TemplateFailed:      addonsv1alpha1.ReasonRenderFailed,
	render.InvalidManifest:     addonsv1alpha1.ReasonInvalidManifest,
	render.TimeLimitExceeded:   addonsv1alpha1.ReasonRenderLimit,
	render.OutputLimitExceeded: addonsv1alpha1.ReasonRenderLimit,
	render.MemoryLimitExceeded: addonsv1alpha1.ReasonRenderLimit,
	render.ChartRefused:        addonsv1alpha1.ReasonChartRefused,
	render.ChartIncompatible:   addonsv1alpha1.ReasonChartRefused,
	render.ReleaseInvalid:      addonsv1alpha1.ReasonChartRefused,
	render.RecordTooLarge:      addonsv1alpha1.ReasonChartRefused,
	render.ValuesInvalid:       addonsv1alpha1.ReasonValuesInvalid,
}

func conflictVerdict(ref objects.Ref, owner string) *verdict {
	return &verdict{
		reason: addonsv1alpha1.ReasonConflict, stalled: true,
		message: fmt.Sprintf("%s belongs to %s; remove it there, or from this add-on", ref, owner),
	}
}

func judgeWrite(w apply.Written, others int) *verdict {
	message := fmt.Sprintf("%s %s: %s", w.Purpose, w.Ref, apply.Explain(w.Ref, w.Err))
	if others > 0 {
		message += fmt.Sprintf(" (and %d more)", others)
	}
	switch {
	case apply.IsTerminating(w.Err):
		return &verdict{reason: addonsv1alpha1.ReasonWaiting, message: fmt.Sprintf(
			"%s %s waits until Namespace %s is gone, which is being deleted", w.Purpose, w.Ref, w.Namespace)}
	case meta.IsNoMatchError(w.Err):
		return &verdict{reason: addonsv1alpha1.ReasonUnknownKind, message: message, stalled: true}
	case apply.IsFinal(w.Err):
		return &verdict{reason: addonsv1alpha1.ReasonRefused, message: message, stalled: true}
	}
	return &verdict{reason: metav1alpha1.ReasonFailed, message: message, cause: w.Err}
}
