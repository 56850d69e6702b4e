package addonrelease

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	release "helm.sh/helm/v4/pkg/release/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// helmSteps are what a chart adds to the application of its objects. For manifests, all of them are
// nothing.
type helmSteps struct {
	*Reconciler
	o       *observed
	plan    helmPlan
	cluster *fleet.Cluster
	done    *outcome
	// recorder is nil where no record is to be written.
	recorder *recorder
}

func (r *Reconciler) helmSteps(ctx context.Context, o *observed, p plan, cluster *fleet.Cluster, done *outcome) helmSteps {
	steps := helmSteps{Reconciler: r, o: o, plan: p.helm, cluster: cluster, done: done}
	if o.chart == nil || !p.helm.record && !p.helm.purge && p.helm.tests == "" {
		return steps
	}
	steps.recorder, done.err = r.newRecorder(ctx, o, cluster, cluster.Tracker)
	return steps
}

// helmRelease is the release whose marks are ours; nil for manifests.
func (o *observed) helmRelease() *helm.Release {
	if o.chart == nil {
		return nil
	}
	return &o.chart.release
}

// before runs the hooks that come first, and returns whether the rest may follow.
func (s helmSteps) before(ctx context.Context) bool {
	return s.done.err == nil && s.hooks(ctx, s.plan.before)
}

// endInterrupted deletes the hooks of an operation that another one takes the place of, if they still run.
func (s helmSteps) endInterrupted(ctx context.Context) error {
	if s.plan.operation == nil || s.o.release.Status.Helm == nil {
		return nil
	}
	last := s.o.release.Status.Helm.Operation
	if last == nil || last.ID == s.plan.operation.ID {
		return nil
	}
	for i := range last.Hooks {
		run := &last.Hooks[i]
		ref, err := objects.ParseID(run.Object)
		if err != nil || run.Phase != addonsv1alpha1.HookRunning || run.UID == "" {
			continue
		}
		if err := deleteHook(ctx, s.cluster, ref, types.UID(run.UID)); err != nil {
			return fmt.Errorf("delete hook %s, which was interrupted: %w", ref, err)
		}
		run.UID = ""
	}
	return nil
}

// after runs the hooks that come last, and writes the record. It returns whether everything is done.
func (s helmSteps) after(ctx context.Context) bool {
	if s.recorder == nil {
		return true
	}
	if !s.hooks(ctx, s.plan.after) {
		return false
	}
	switch {
	case s.plan.purge:
		s.done.err = s.purge(ctx)
		s.done.purged = s.done.err == nil
	case s.plan.record:
		changed, _ := recordRef(s.o.release)
		s.done.err = s.recorder.finish(s.plan.operation)
		s.takenBack(changed)
	}
	if s.done.err == nil && s.plan.tests != "" {
		s.done.err = s.test(ctx)
	}
	return s.done.err == nil
}

// purge removes the records, and makes sure that they go: that a deletion was answered does not say so.
func (s helmSteps) purge(ctx context.Context) error {
	if err := s.recorder.purge(); err != nil {
		return err
	}
	release := s.o.chart.release
	secrets, err := s.cluster.List(ctx, secretKind, release.Namespace, release.Selector())
	if err != nil {
		return err
	}
	secrets = slices.DeleteFunc(secrets, func(secret metav1.PartialObjectMetadata) bool { return secret.DeletionTimestamp != nil })
	if helm.NewHistory(release, secrets).HasOurs() {
		return fmt.Errorf("the records of Helm release %s are there still, though their deletion was answered", release)
	}
	return nil
}

// strays are the objects of somebody else's record that have to go.
func (s helmSteps) strays(ctx context.Context) ([]removal, error) {
	if !s.plan.strays || s.recorder == nil {
		return nil, nil
	}
	return s.Reconciler.strays(ctx, *s.o, s.recorder, s.cluster)
}

// takenBack tells of a record that somebody had changed, as of any other object.
func (s helmSteps) takenBack(ref objects.Ref) {
	if s.done.err != nil || !s.o.recordDrifted || s.o.recordSeen == nil {
		return
	}
	at := s.Clock.Now()
	s.done.takenBack = append(s.done.takenBack, written{
		write: write{
			desired: desired{Ref: ref}, purpose: correct, seen: s.o.recordSeen, entry: entry{uid: s.o.recordSeen.UID},
			culprit: blame(s.o.recordSeen, managedfields.Subject{Kind: ref.GroupKind()}, s.Rules),
		},
		result: &metav1.PartialObjectMetadata{}, contested: true, at: at, took: at.Sub(s.o.recordSeen.At),
	})
}

// hooks runs those of an event. The record says that they are under way as long as they are, and that
// one has failed.
func (s helmSteps) hooks(ctx context.Context, event release.HookEvent) bool {
	if s.plan.operation == nil || event == "" || !slices.ContainsFunc(s.o.chart.hooks, func(h hook) bool { return h.runsAt(string(event)) }) {
		return true
	}
	if blocked := s.plan.blocked; blocked != nil && blocked.Event == string(event) {
		s.done.hook = &hookReport{hook: s.find(blocked), run: *blocked}
		s.done.wake(blocked.CompletedAt.Add(retryStalled))
		return false
	}
	if !s.plan.purge && s.plan.blocked == nil {
		if s.done.err = s.recorder.begin(ctx, s.plan.operation); s.done.err != nil {
			return false
		}
	}
	runner := &hookRunner{Reconciler: s.Reconciler, o: s.o, operation: s.plan.operation, cluster: s.cluster, done: s.done}
	succeeded := runner.run(ctx, event)
	s.o.helmStatus().Operation = s.plan.operation.DeepCopy()
	if failed := s.done.hook; !succeeded && !s.plan.purge && failed != nil && failed.run.Phase == addonsv1alpha1.HookFailed && s.done.err == nil {
		s.done.err = s.recorder.fail(s.plan.operation, failed.String())
	}
	return succeeded
}

func (s helmSteps) find(run *addonsv1alpha1.HookRun) hook {
	for _, one := range s.o.chart.hooks {
		if one.ID() == run.Object {
			return one
		}
	}
	return hook{}
}

// String is the form for people.
func (h hookReport) String() string {
	text := fmt.Sprintf("%s hook %s", h.run.Event, h.Ref)
	switch {
	case h.run.Message != "":
		return text + " " + h.run.Message
	case h.run.Phase == addonsv1alpha1.HookRunning:
		return text + " is running"
	}
	return text + " " + string(h.run.Phase)
}

// test runs the test hooks, and keeps the verdict apart from the release's own state.
func (s helmSteps) test(ctx context.Context) error {
	status := s.o.helmStatus()
	operation := status.Operation.DeepCopy()
	if operation == nil {
		operation = &addonsv1alpha1.HelmOperation{Kind: addonsv1alpha1.HelmTest, ID: s.o.inputs + "-test"}
	}
	if status.Tests == nil || status.Tests.Token != s.plan.tests {
		status.Tests = &addonsv1alpha1.HelmTests{Token: s.plan.tests, Phase: addonsv1alpha1.HookRunning}
		operation.Hooks = slices.DeleteFunc(operation.Hooks, isTest)
	}
	runner := &hookRunner{Reconciler: s.Reconciler, o: s.o, operation: operation, cluster: s.cluster, done: &outcome{}}
	succeeded := runner.run(ctx, release.HookTest)
	status = s.o.helmStatus()
	status.Operation = operation
	s.done.recheck = s.done.recheck || runner.done.recheck
	if runner.done.err != nil {
		return runner.done.err
	}
	said := runner.done.hook
	switch {
	case succeeded:
		ran := slices.DeleteFunc(slices.Clone(operation.Hooks), func(run addonsv1alpha1.HookRun) bool { return !isTest(run) })
		message := fmt.Sprintf("%d test hooks succeeded", len(ran))
		if len(ran) == 0 {
			message = "the chart has no test hooks"
		}
		s.verdict(addonsv1alpha1.HookSucceeded, message)
	case said.run.Phase == addonsv1alpha1.HookFailed:
		s.verdict(addonsv1alpha1.HookFailed, said.String())
	default:
		status.Tests = &addonsv1alpha1.HelmTests{Token: s.plan.tests, Phase: addonsv1alpha1.HookRunning, Message: said.String()}
		s.done.wake(runner.done.wakeAt)
		return nil
	}
	// As after `helm test`, the record tells of the tests too.
	return s.recorder.write(operation, s.o.history.Latest().Status, description(operation))
}

func isTest(run addonsv1alpha1.HookRun) bool { return run.Event == string(release.HookTest) }

func (s helmSteps) verdict(phase addonsv1alpha1.HookPhase, message string) {
	s.o.helmStatus().Tests = &addonsv1alpha1.HelmTests{
		Token: s.plan.tests, Phase: phase, Message: message, CompletedAt: ptr.To(metav1.NewMicroTime(s.Clock.Now())),
	}
}
