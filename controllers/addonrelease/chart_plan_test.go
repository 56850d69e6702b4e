package addonrelease

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"helm.sh/helm/v4/pkg/release/common"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// chartScene is a release of a chart that is deployed, as version 2 of its records.
func chartScene(change ...func(*observation)) *observation {
	o := scene()
	o.Inputs = "new"
	o.Extra.Chart = &helm.Chart{Release: helmrecord.Release{Namespace: "cache", Name: "shop"}}
	o.Extra.History = helmrecord.History{
		{Version: 2, Status: common.StatusDeployed, Inputs: "old"},
		{Version: 1, Status: common.StatusSuperseded, Inputs: "older"},
	}
	o.Status.InputsHash = "old"
	o.Status.Helm = &addonsv1alpha1.HelmRelease{Name: "shop", Namespace: "cache", Version: 2}
	for _, c := range change {
		c(o)
	}
	return o
}

// begun is an upgrade in whose course one hook came to an end.
func begun(phase addonsv1alpha1.HookPhase, ago time.Duration) func(*observation) {
	return func(o *observation) {
		completed := metav1.NewMicroTime(noon.Add(-ago))
		o.Status.Helm.Operation = &addonsv1alpha1.HelmOperation{
			Kind: addonsv1alpha1.HelmUpgrade, ID: "new-3",
			Hooks: []addonsv1alpha1.HookRun{{Event: "pre-upgrade", Object: "batch/v1/Job/cache/migrate", Phase: phase, CompletedAt: &completed}},
		}
	}
}

// begunUninstall is an uninstallation in whose course one hook came to an end just now.
func begunUninstall(phase addonsv1alpha1.HookPhase) func(*observation) {
	return func(o *observation) {
		begun(phase, 0)(o)
		o.Status.Helm.Operation.Kind, o.Status.Helm.Operation.ID = addonsv1alpha1.HelmUninstall, "uninstall-new"
		o.Status.Helm.Operation.Hooks[0].Event = "pre-delete"
	}
}

func skippingHooks(o *observation) {
	o.Target.Annotations = map[string]string{metav1alpha1.AnnotationSkipDeleteHooks: "true"}
}

func settled(o *observation) { o.Inputs = "old" }

func summarizeHelm(h helm.Plan) string {
	text := ""
	if h.Operation != nil {
		text += fmt.Sprintf("%s %s %s..%s (%d run) ", h.Operation.Kind, h.Operation.ID, h.Before, h.After, len(h.Operation.Hooks))
	}
	if h.Operation != nil && h.Operation.RollbackTo != 0 {
		text += fmt.Sprintf("to %d ", h.Operation.RollbackTo)
	}
	for _, one := range []struct {
		said string
		is   bool
	}{{"blocked ", h.Blocked != nil}, {"record ", h.Record}, {"unlisted ", h.Unlisted}, {"purge ", h.Purge}, {"tests " + h.Tests, h.Tests != ""}} {
		if one.is {
			text += one.said
		}
	}
	return text
}

func TestPlanHelm(t *testing.T) {
	foreign := func(o *observation) {
		o.Extra.History = append(helmrecord.History{{Version: 3, Status: common.StatusDeployed}}, o.Extra.History...)
	}
	rows := []struct {
		name string
		o    *observation
		want string
	}{
		{"Manifests", scene(), ""},
		{"SettledNeedsNothing", chartScene(settled), ""},
		{"Install", chartScene(func(o *observation) { o.Extra.History, o.Status.Helm = nil, nil }), "Install new-1 pre-install..post-install (0 run) record "},
		{"Upgrade", chartScene(), "Upgrade new-3 pre-upgrade..post-upgrade (0 run) record "},
		{"BackToAnOldOne", chartScene(func(o *observation) { o.Inputs = "older" }), "Rollback older-3 pre-rollback..post-rollback (0 run) to 1 record "},
		{"GoesOnWithWhatWasBegun", chartScene(begun(addonsv1alpha1.HookSucceeded, 0)), "Upgrade new-3 pre-upgrade..post-upgrade (1 run) record "},
		{"AFailedHookHolds", chartScene(begun(addonsv1alpha1.HookFailed, time.Minute)), "Upgrade new-3 pre-upgrade..post-upgrade (1 run) blocked record "},
		{"AFailedHookIsTriedAgainLater", chartScene(begun(addonsv1alpha1.HookFailed, apply.RetryStalled)), "Upgrade new-3 pre-upgrade..post-upgrade (0 run) record "},
		{"AFailedHookIsTriedAgainOnRequest", chartScene(begun(addonsv1alpha1.HookFailed, time.Minute), func(o *observation) { o.Request = "now" }), "Upgrade new-3 pre-upgrade..post-upgrade (0 run) record "},
		{"AnotherRevisionForgetsAFailedHook", chartScene(begun(addonsv1alpha1.HookFailed, 0), func(o *observation) { o.Inputs = "newer" }), "Upgrade newer-3 pre-upgrade..post-upgrade (0 run) record "},
		{"AnUpgradeByHandIsTakenBackWithoutHooks", chartScene(settled, foreign, func(o *observation) { o.Extra.RecordDrifted = true }), "record unlisted "},
		{"AnUpgradeByHandIsOnlyReported", chartScene(settled, foreign, func(o *observation) {
			o.Extra.RecordDrifted, o.Target.Spec.Drift.Mode = true, metav1alpha1.DriftReport
		}), "unlisted "},
		{"Adoption", chartScene(func(o *observation) {
			o.Extra.History = helmrecord.History{{Version: 4, Status: common.StatusDeployed}}
		}), "Upgrade new-5 pre-upgrade..post-upgrade (0 run) record unlisted "},
		{"TheReleaseOfBeforeIsReplacedUnseen", chartScene(func(o *observation) { o.Status.InputsHash = "" }), "Upgrade new-3 pre-upgrade..post-upgrade (0 run) record unlisted "},
		{"SuspensionHoldsAll", chartScene(func(o *observation) { o.Suspension = suspension.Suspension{Active: true} }), ""},
		{"Uninstall", chartScene(deleting), "Uninstall uninstall-new pre-delete..post-delete (0 run) purge "},
		{"UninstallWithoutHooks", chartScene(deleting, skippingHooks), "Uninstall uninstall-without-hooks-new .. (0 run) purge "},
		{"AHookThatFailedDoesNotHoldThat", chartScene(deleting, begunUninstall(addonsv1alpha1.HookFailed), skippingHooks), "Uninstall uninstall-without-hooks-new .. (0 run) purge "},
		{"AHookOfAnUninstallHolds", chartScene(deleting, begunUninstall(addonsv1alpha1.HookFailed)), "Uninstall uninstall-new pre-delete..post-delete (1 run) blocked purge "},
		{"NothingToUninstall", chartScene(deleting, func(o *observation) { o.Extra.History = nil }), ""},
		{"Tests", chartScene(settled, func(o *observation) { o.Target.Spec.RunTests = "token" }), "tests token"},
		{"TestsThatHaveRun", chartScene(settled, func(o *observation) {
			o.Target.Spec.RunTests = "token"
			o.Status.Helm.Tests = &addonsv1alpha1.HelmTests{Token: "token", Phase: addonsv1alpha1.HookFailed}
		}), ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if got := summarizeHelm(helm.NewPlan(forHelm(row.o))); got != row.want {
				t.Errorf("got  %q\nwant %q", got, row.want)
			}
		})
	}
}
