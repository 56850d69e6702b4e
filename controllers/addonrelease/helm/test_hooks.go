package helm

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	release "helm.sh/helm/v4/pkg/release/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
)

// test runs the test hooks, and keeps the verdict apart from the release's own state.
func (s *Stages) test(ctx context.Context) error {
	status := s.status.get()
	operation := status.Operation.DeepCopy()
	if operation == nil {
		operation = &addonsv1alpha1.HelmOperation{Kind: addonsv1alpha1.HelmTest, ID: s.o.Inputs + "-test"}
	}
	if status.Tests == nil || status.Tests.Token != s.plan.Tests {
		status.Tests = &addonsv1alpha1.HelmTests{Token: s.plan.Tests, Phase: addonsv1alpha1.HookRunning}
		operation.Hooks = slices.DeleteFunc(operation.Hooks, isTest)
	}
	runner := s.runner(operation)
	runner.result = &Result{}
	succeeded, err := runner.run(ctx, release.HookTest)
	s.status.get().Operation = operation
	s.result.Recheck = s.result.Recheck || runner.result.Recheck
	if err != nil {
		return err
	}
	said := runner.result.Hook
	switch {
	case succeeded:
		s.verdict(addonsv1alpha1.HookSucceeded, countTests(operation))
	case said.Run.Phase == addonsv1alpha1.HookFailed:
		s.verdict(addonsv1alpha1.HookFailed, said.String())
	default:
		s.status.get().Tests = &addonsv1alpha1.HelmTests{Token: s.plan.Tests, Phase: addonsv1alpha1.HookRunning, Message: said.String()}
		s.result.wake(runner.result.WakeAt)
		return nil
	}
	// As after `helm test`, the record tells of the tests too.
	return s.record(operation, s.records.History.Latest().Status, description(operation))
}

func countTests(operation *addonsv1alpha1.HelmOperation) string {
	ran := slices.DeleteFunc(slices.Clone(operation.Hooks), func(run addonsv1alpha1.HookRun) bool { return !isTest(run) })
	if len(ran) == 0 {
		return "the chart has no test hooks"
	}
	return fmt.Sprintf("%d test hooks succeeded", len(ran))
}

func isTest(run addonsv1alpha1.HookRun) bool { return run.Event == string(release.HookTest) }

func (s *Stages) verdict(phase addonsv1alpha1.HookPhase, message string) {
	s.status.get().Tests = &addonsv1alpha1.HelmTests{
		Token: s.plan.Tests, Phase: phase, Message: message, CompletedAt: ptr.To(metav1.NewMicroTime(s.Clock.Now())),
	}
}
