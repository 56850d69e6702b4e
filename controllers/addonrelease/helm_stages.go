package addonrelease

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	release "helm.sh/helm/v4/pkg/release/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/earliest"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// helmTarget is whose Helm release is worked on, and with what.
type helmTarget struct {
	cluster *fleet.Cluster
	owner   fleet.Owner
	// holderName says who a person should talk to about another target's object.
	holderName   func(context.Context, fleet.Owner) string
	journal      helmJournal
	renderings   renderings
	rules        managedfields.Rules
	installation string
	clock        clock.PassiveClock
}

// helmJournal is where it is kept how far an operation has come.
type helmJournal interface {
	storeHelm(ctx context.Context, status *addonsv1alpha1.HelmRelease) error
	// confirm makes sure that what was read of the target is the latest.
	confirm(ctx context.Context) error
}

// helmStages are what a chart adds to the application of its objects.
type helmStages struct {
	helmTarget
	o    helmObservation
	plan helmPlan
	// lists tells whether the inventory lists an object, or the chart declares it.
	lists  func(objects.Key) bool
	status *helmStatus
	// recorder is nil where no record is to be written.
	recorder *recorder
	result   *helmResult
}

// helmStatus is the part of the status that speaks of the Helm release, in the making.
type helmStatus struct {
	chart *chart
	// value is nil as long as there is nothing to say.
	value *addonsv1alpha1.HelmRelease
}

// get returns what is said of the release, made if need be.
func (s *helmStatus) get() *addonsv1alpha1.HelmRelease {
	if s.value == nil {
		s.value = &addonsv1alpha1.HelmRelease{}
	}
	s.value.Name, s.value.Namespace, s.value.Chart = s.chart.release.Name, s.chart.release.Namespace, s.chart.title
	return s.value
}

// helmResult is what came of the stages of a chart.
type helmResult struct {
	// status of the Helm release; nil if there is none.
	status *addonsv1alpha1.HelmRelease
	// hook is the hook that the rest waits for, or that failed; nil if there is none.
	hook *hookReport
	// reverted is the record of the Helm release, if somebody had changed it or taken its place.
	reverted []apply.Written
	// recordPending: the latest record says that an operation is under way, or may do.
	recordPending bool
	// purged: the records of the Helm release are gone.
	purged bool
	// recheck: what was removed must be looked for again, since no watch will tell.
	recheck bool
	// wakeAt is a deadline that was met on the way; zero if there is none.
	wakeAt time.Time
}

// wake asks for another look at a time, the earliest of several.
func (r *helmResult) wake(at time.Time) { r.wakeAt = earliest.Of(r.wakeAt, at) }

// newHelmStages returns the stages of an observed chart.
func newHelmStages(target helmTarget, o helmObservation, p helmPlan, lists func(objects.Key) bool) *helmStages {
	return &helmStages{
		helmTarget: target, o: o, plan: p, lists: lists,
		status: &helmStatus{chart: o.chart, value: o.status.DeepCopy()},
		result: &helmResult{recordPending: o.recordPending},
	}
}

// Owns implements stages.
func (s *helmStages) Owns(object metav1.Object) bool { return s.o.chart.release.Owns(object) }

// Begin implements stages: what another operation left running is ended, and a rendering that cannot be made again is
// kept.
func (s *helmStages) Begin(ctx context.Context) error {
	if s.plan.record || s.plan.purge || s.plan.tests != "" {
		store, err := helm.NewStore(ctx, s.cluster, s.o.chart.release, s.installation)
		if err != nil {
			return err
		}
		s.recorder = &recorder{
			o: s.o, store: store, tracker: s.cluster.Tracker, owner: s.owner, rules: s.rules, journal: s.journal,
			status: s.status, result: s.result,
		}
	}
	if err := s.endInterrupted(ctx); err != nil {
		return err
	}
	return s.renderings.keep(ctx, s.o, s.status, s.journal)
}

// intended is what is about to be done, for the status; nil if nothing is.
func (s *helmStages) intended() *addonsv1alpha1.HelmRelease {
	if s.plan.operation != nil {
		s.status.get().Operation = s.plan.operation.DeepCopy()
	}
	return s.status.value
}

// Before implements stages: it runs the hooks that come first.
func (s *helmStages) Before(ctx context.Context) (bool, error) { return s.hooks(ctx, s.plan.before) }

// endInterrupted deletes the hooks of an operation that another one takes the place of, if they still run.
func (s *helmStages) endInterrupted(ctx context.Context) error {
	if s.plan.operation == nil || s.status.value == nil {
		return nil
	}
	last := s.status.value.Operation
	if last == nil || last.ID == s.plan.operation.ID {
		return nil
	}
	for i := range last.Hooks {
		run := &last.Hooks[i]
		ref, err := objects.ParseID(run.Object)
		if err != nil || run.Phase != addonsv1alpha1.HookRunning || run.UID == "" {
			continue
		}
		if err := apply.Delete(ctx, s.cluster, ref, types.UID(run.UID)); err != nil {
			return fmt.Errorf("delete hook %s, which was interrupted: %w", ref, err)
		}
		run.UID = ""
	}
	return nil
}

// After implements stages: it runs the hooks that come last, and writes the record.
func (s *helmStages) After(ctx context.Context) (bool, error) {
	if s.recorder == nil {
		return true, nil
	}
	if succeeded, err := s.hooks(ctx, s.plan.after); !succeeded || err != nil {
		return false, err
	}
	switch {
	case s.plan.purge:
		if err := s.purge(ctx); err != nil {
			return false, err
		}
		s.result.purged = true
	case s.plan.record:
		changed, _ := recordRef(s.o.status)
		if err := s.recorder.finish(s.plan.operation); err != nil {
			return false, err
		}
		s.reverted(changed)
	}
	if s.plan.tests == "" {
		return true, nil
	}
	err := s.test(ctx)
	return err == nil, err
}

// purge removes the records, and makes sure that they go: that a deletion was answered does not say so.
func (s *helmStages) purge(ctx context.Context) error {
	if err := s.recorder.purge(); err != nil {
		return err
	}
	ours := s.o.chart.release
	secrets, err := s.cluster.List(ctx, secretKind, ours.Namespace, ours.Selector())
	if err != nil {
		return err
	}
	secrets = slices.DeleteFunc(secrets, func(secret metav1.PartialObjectMetadata) bool { return secret.DeletionTimestamp != nil })
	if helm.NewHistory(ours, secrets).HasOurs() {
		return fmt.Errorf("the records of Helm release %s are there still, though their deletion was answered", ours)
	}
	return nil
}

// reverted tells of a record that somebody had changed, as of any other object.
func (s *helmStages) reverted(ref objects.Ref) {
	seen := s.o.recordSeen
	if !s.o.recordDrifted || seen == nil {
		return
	}
	at := s.clock.Now()
	s.result.reverted = append(s.result.reverted, apply.Written{
		Write: apply.Write{
			Object: apply.Object{Ref: ref}, Purpose: apply.PurposeCorrect, Seen: seen, Entry: apply.Entry{UID: seen.UID},
			Actor: apply.Attribute(seen, managedfields.Subject{Kind: ref.GroupKind()}, s.rules),
		},
		Result: &metav1.PartialObjectMetadata{}, Contested: true, At: at, Took: at.Sub(seen.At),
	})
}

// hooks runs those of an event, and returns whether all have succeeded. The record says that they are under way as long
// as they are, and that one has failed.
func (s *helmStages) hooks(ctx context.Context, event release.HookEvent) (bool, error) {
	if s.plan.operation == nil || event == "" || !slices.ContainsFunc(s.o.chart.hooks, func(h hook) bool { return h.runsAt(string(event)) }) {
		return true, nil
	}
	if blocked := s.plan.blocked; blocked != nil && blocked.Event == string(event) {
		s.result.hook = &hookReport{hook: s.find(blocked), run: *blocked}
		s.result.wake(blocked.CompletedAt.Add(apply.RetryStalled))
		return false, nil
	}
	if !s.plan.purge && s.plan.blocked == nil {
		if err := s.recorder.begin(ctx, s.plan.operation); err != nil {
			return false, err
		}
	}
	succeeded, err := s.runner(s.plan.operation).run(ctx, event)
	s.status.get().Operation = s.plan.operation.DeepCopy()
	if failed := s.result.hook; err == nil && !succeeded && !s.plan.purge && failed != nil && failed.run.Phase == addonsv1alpha1.HookFailed {
		err = s.recorder.fail(s.plan.operation, failed.String())
	}
	return succeeded, err
}

func (s *helmStages) runner(operation *addonsv1alpha1.HelmOperation) *hookRunner {
	return &hookRunner{helmTarget: s.helmTarget, chart: s.o.chart, status: s.status, operation: operation, result: s.result}
}

func (s *helmStages) find(run *addonsv1alpha1.HookRun) hook {
	for _, one := range s.o.chart.hooks {
		if one.ID() == run.Object {
			return one
		}
	}
	return hook{}
}
