package addonrelease

import (
	"cmp"
	"errors"
	"fmt"

	release "helm.sh/helm/v4/pkg/release/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// judge finds the first thing that is wrong, the most useful to know of first.
func judge(o observation, p plan, done result) *target.Verdict {
	return cmp.Or(judgeProblem(o.problem), target.JudgeWrites(p.Plan, done.Result), judgeHook(done.helm.Hook), target.JudgeWaits(done.Result))
}

func judgeHook(hook *helm.HookReport) *target.Verdict {
	if hook == nil {
		return nil
	}
	if hook.Run.Phase == addonsv1alpha1.HookFailed {
		return &target.Verdict{
			Reason: addonsv1alpha1.ReasonHookFailed, Stalled: true,
			Message: fmt.Sprintf("%s; it is tried again after %s, or at once with the annotation %s%s",
				hook, apply.RetryStalled, metav1alpha1.AnnotationRequestedAt, wayOut(hook.Run.Event)),
		}
	}
	return &target.Verdict{Reason: addonsv1alpha1.ReasonHookRunning, Message: hook.String()}
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
func mayPass(problem error) bool { return !judgeProblem(problem).Stalled }

func judgeProblem(problem error) *target.Verdict {
	if problem == nil {
		return nil
	}
	var foreign *helm.ForeignReleaseError
	var shared *sharedReleaseError
	if errors.As(problem, &foreign) || errors.As(problem, &shared) {
		return &target.Verdict{Reason: metav1alpha1.ReasonConflict, Message: problem.Error(), Stalled: true}
	}
	var tooMany *tooManyError
	reason, isRender := render.ReasonOf(problem)
	switch {
	case isRender:
		return &target.Verdict{Reason: renderReasons[reason], Message: problem.Error(), Stalled: true}
	case errors.As(problem, &tooMany):
		return &target.Verdict{Reason: addonsv1alpha1.ReasonInvalidManifest, Message: problem.Error(), Stalled: true}
	case errors.Is(problem, revision.ErrNotFound), errors.Is(problem, revision.ErrTorn):
		return &target.Verdict{
			Reason: addonsv1alpha1.ReasonRevisionNotFound, Stalled: true,
			Message: problem.Error() + "; change the SaaSAddon, or remove what is left of the revision, to have one written again",
		}
	}
	return target.JudgeProblem(problem)
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
