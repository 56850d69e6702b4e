package addonrelease

import (
	"fmt"
	"time"

	release "helm.sh/helm/v4/pkg/release/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// recheckHooks is when a hook that was deleted is looked for again: no watch tells that it is gone.
const recheckHooks = 2 * time.Second

// Outcome implements target.StagedKind.
func (r *Reconciler) Outcome(o *observation) outcome {
	if o.Extra.stages == nil {
		return outcomeOf(o, helm.Result{Status: o.Status.Helm, RecordPending: o.Unfinished})
	}
	return outcomeOf(o, o.Extra.stages.Result())
}

type outcome = target.Outcome[addonsv1alpha1.AddonReleaseStatus]

// outcomeOf tells of what came of the stages of a chart.
func outcomeOf(o *observation, done helm.Result) outcome {
	told := outcome{
		Tell:       func(status *addonsv1alpha1.AddonReleaseStatus) { status.Helm = done.Status.DeepCopy() },
		Unfinished: done.RecordPending, Remains: done.Hook != nil || done.Purging && !done.Purged, Reverted: done.Reverted,
		// They are told of at once: they are not to run twice.
		Urgent:  done.Status != nil && done.Status.Operation != nil && len(done.Status.Operation.Hooks) > 0,
		Trouble: verdictOfHook(done.Hook), Due: []time.Time{done.WakeAt},
	}
	if o.Extra.RecordDrifted && len(done.Reverted) == 0 {
		told.LeftChanged = "somebody used Helm on the release; its record is left as it is"
	}
	if done.Recheck {
		told.Due = append(told.Due, o.Now.Add(recheckHooks))
	}
	if why := whyWithoutHooks(o); why != "" && done.Purged {
		told.Warning = &target.Warning{
			Reason: "UninstalledWithoutHooks", Action: "Delete",
			Message: "uninstalled in " + o.Target.Spec.ClusterRef.Name + " without its hooks: " + why,
		}
	}
	return told
}

// whyWithoutHooks says why a release ends without its hooks; empty if it does not.
func whyWithoutHooks(o *observation) string {
	switch {
	case o.Extra.Unrendered != nil:
		return o.Extra.Unrendered.Error()
	case skipsDeleteHooks(o.Target):
		return "the annotation " + metav1alpha1.AnnotationSkipDeleteHooks + " asks for it"
	}
	return ""
}

func verdictOfHook(hook *helm.HookReport) *target.Verdict {
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

// verdictOfProblem says what only a person can mend; the problem itself where it may pass, or the room knows of it.
func verdictOfProblem(problem error) error {
	if reason, isRender := manifest.ReasonOf(problem); isRender {
		return &target.Verdict{Reason: renderReasons[reason], Message: problem.Error(), Stalled: true}
	}
	return problem
}

// tooMany is an add-on that is larger than one may be.
func tooMany(what string, count, most int) error {
	return &target.Verdict{Reason: addonsv1alpha1.ReasonInvalidManifest, Stalled: true, Message: fmt.Sprintf(
		"the add-on has %d %s, more than the %d that one may have; split it", count, what, most)}
}

var renderReasons = map[manifest.Reason]string{
	manifest.TemplateFailed:      addonsv1alpha1.ReasonRenderFailed,
	manifest.InvalidManifest:     addonsv1alpha1.ReasonInvalidManifest,
	manifest.TimeLimitExceeded:   addonsv1alpha1.ReasonRenderLimit,
	manifest.OutputLimitExceeded: addonsv1alpha1.ReasonRenderLimit,
	manifest.MemoryLimitExceeded: addonsv1alpha1.ReasonRenderLimit,
	manifest.ChartRefused:        addonsv1alpha1.ReasonChartRefused,
	manifest.ChartIncompatible:   addonsv1alpha1.ReasonChartRefused,
	manifest.ReleaseInvalid:      addonsv1alpha1.ReasonChartRefused,
	manifest.RecordTooLarge:      addonsv1alpha1.ReasonChartRefused,
	manifest.ValuesInvalid:       addonsv1alpha1.ReasonValuesInvalid,
}
