package helm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// Target is whose Helm release is worked on, and with what.
type Target struct {
	Cluster *fleet.Cluster
	Owner   tracker.Owner
	// OwnerName says whom the people of one target should talk to about what another one has.
	OwnerName    func(ctx context.Context, asking, holder tracker.Owner) string
	Journal      *Journal
	Renderings   Renderings
	Rules        managedfields.Rules
	Installation string
	Clock        clock.PassiveClock
}

// Journal is where it is kept how far an operation has come.
type Journal = target.Journal[*addonsv1alpha1.AddonRelease, addonsv1alpha1.AddonReleaseStatus]

// store keeps what is said of a Helm release.
func store(ctx context.Context, journal *Journal, said *addonsv1alpha1.HelmRelease) error {
	return journal.Store(ctx, func(status *addonsv1alpha1.AddonReleaseStatus) { status.Helm = said.DeepCopy() })
}

// Stages are what a chart adds to the application of its objects.
type Stages struct {
	Target
	o    Observation
	plan Plan
	// lists tells whether the inventory lists an object, or the chart declares it.
	lists  func(objects.Key) bool
	status *releaseStatus
	// records is nil where no record is to be written.
	records *helmrecord.Recorder
	result  *Result
}

// releaseStatus is the part of the status that speaks of the Helm release, in the making.
type releaseStatus struct {
	chart *Chart
	// value is nil as long as there is nothing to say.
	value *addonsv1alpha1.HelmRelease
}

// get returns what is said of the release, made if need be.
func (s *releaseStatus) get() *addonsv1alpha1.HelmRelease {
	if s.value == nil {
		s.value = &addonsv1alpha1.HelmRelease{}
	}
	s.value.Name, s.value.Namespace, s.value.Chart = s.chart.Release.Name, s.chart.Release.Namespace, s.chart.Title
	return s.value
}

// Result is what came of the stages of a chart.
type Result struct {
	// Status of the Helm release; nil if there is none.
	Status *addonsv1alpha1.HelmRelease
	// Hook is the hook that the rest waits for, or that failed; nil if there is none.
	Hook *HookReport
	// Reverted is the record of the Helm release, if somebody had changed it or taken its place.
	Reverted []apply.Written
	// RecordPending: the latest record says that an operation is under way, or may do.
	RecordPending bool
	// Purging: the records of the Helm release are to go; Purged: they are gone.
	Purging, Purged bool
	// Recheck: what was removed must be looked for again, since no watch will tell.
	Recheck bool
	// WakeAt is a deadline that was met on the way; zero if there is none.
	WakeAt time.Time
}

// wake asks for another look at a time, the earliest of several.
func (r *Result) wake(at time.Time) { r.WakeAt = times.Earliest(r.WakeAt, at) }

// NewStages returns the stages of an observed chart.
func NewStages(of Target, o Observation, p Plan, lists func(objects.Key) bool) *Stages {
	return &Stages{
		Target: of, o: o, plan: p, lists: lists,
		status: &releaseStatus{chart: o.Chart, value: o.Status.DeepCopy()},
		result: &Result{RecordPending: o.RecordPending, Purging: p.Purge},
	}
}

// Result is what came of the stages so far.
func (s *Stages) Result() Result {
	result := *s.result
	result.Status = s.status.value
	return result
}

// Owns implements apply.Stages.
func (s *Stages) Owns(object metav1.Object) bool { return s.o.Chart.Release.Owns(object) }

// Begin implements apply.Stages: what another operation left running is ended, and a rendering that cannot be made again is
// kept.
func (s *Stages) Begin(ctx context.Context) error {
	if s.plan.Record || s.plan.Purge || s.plan.Tests != "" {
		records, err := helmrecord.NewStore(ctx, s.Cluster, s.o.Chart.Release, s.Installation)
		if err != nil {
			return err
		}
		s.records = &helmrecord.Recorder{
			Store: records, History: s.o.History, Inputs: s.o.Inputs, Rendered: s.o.Chart.Record, Now: s.o.Now,
		}
	}
	if err := s.endInterrupted(ctx); err != nil {
		return err
	}
	return s.Renderings.keep(ctx, s.o, s.status, s.Journal)
}

// Intended is what is about to be done, for the status; nil if nothing is.
func (s *Stages) Intended() *addonsv1alpha1.HelmRelease {
	if s.plan.Operation != nil {
		s.status.get().Operation = s.plan.Operation.DeepCopy()
	}
	return s.status.value
}

// Before implements apply.Stages: it runs the hooks that come first.
func (s *Stages) Before(ctx context.Context) (bool, error) { return s.hooks(ctx, s.plan.Before) }

// endInterrupted deletes the hooks of an operation that another one takes the place of, if they still run.
func (s *Stages) endInterrupted(ctx context.Context) error {
	if s.plan.Operation == nil || s.status.value == nil {
		return nil
	}
	last := s.status.value.Operation
	if last == nil || last.ID == s.plan.Operation.ID {
		return nil
	}
	for i := range last.Hooks {
		run := &last.Hooks[i]
		ref, err := objects.ParseID(run.Object)
		if err != nil || run.Phase != addonsv1alpha1.HookRunning || run.UID == "" {
			continue
		}
		if err := apply.Delete(ctx, s.Cluster, ref, types.UID(run.UID)); err != nil {
			return fmt.Errorf("delete hook %s, which was interrupted: %w", ref, err)
		}
		run.UID = ""
	}
	return nil
}

// After implements apply.Stages: it runs the hooks that come last, and writes the record.
func (s *Stages) After(ctx context.Context) (bool, error) {
	if s.records == nil {
		return true, nil
	}
	if succeeded, err := s.hooks(ctx, s.plan.After); !succeeded || err != nil {
		return false, err
	}
	switch {
	case s.plan.Purge:
		if err := s.purge(ctx); err != nil {
			return false, err
		}
		s.result.Purged = true
	case s.plan.Record:
		changed, _ := recordRef(s.o.Status)
		if err := s.finishRecord(s.plan.Operation); err != nil {
			return false, err
		}
		s.reverted(changed)
	}
	if s.plan.Tests == "" {
		return true, nil
	}
	err := s.test(ctx)
	return err == nil, err
}

// purge removes the records, and makes sure that they go: that a deletion was answered does not say so.
func (s *Stages) purge(ctx context.Context) error {
	if err := s.records.Purge(); err != nil {
		return err
	}
	ours := s.o.Chart.Release
	secrets, err := s.Cluster.List(ctx, SecretKind, ours.Namespace, ours.Selector())
	if err != nil {
		return err
	}
	secrets = slices.DeleteFunc(secrets, func(secret metav1.PartialObjectMetadata) bool { return secret.DeletionTimestamp != nil })
	if helmrecord.NewHistory(ours, secrets).HasOurs() {
		return fmt.Errorf("the records of Helm release %s are there still, though their deletion was answered", ours)
	}
	return nil
}

// reverted tells of a record that somebody had changed, as of any other object.
func (s *Stages) reverted(ref objects.Ref) {
	seen := s.o.RecordSeen
	if !s.o.RecordDrifted || seen == nil {
		return
	}
	at := s.Clock.Now()
	s.result.Reverted = append(s.result.Reverted, apply.Written{
		Write: apply.Write{
			Object: apply.Object{Ref: ref}, Purpose: apply.PurposeCorrect, Seen: seen, Entry: apply.Entry{UID: seen.UID},
			Actor: apply.Attribute(seen, managedfields.Subject{Kind: ref.GroupKind()}, s.Rules),
		},
		Result: &metav1.PartialObjectMetadata{}, Contested: true, At: at, Took: at.Sub(seen.At),
	})
}

// hooks runs those of an event, and returns whether all have succeeded. The record says that they are under way as long
// as they are, and that one has failed.
func (s *Stages) hooks(ctx context.Context, event release.HookEvent) (bool, error) {
	if s.plan.Operation == nil || event == "" || !slices.ContainsFunc(s.o.Chart.Hooks, func(h Hook) bool { return h.runsAt(string(event)) }) {
		return true, nil
	}
	if blocked := s.plan.Blocked; blocked != nil && blocked.Event == string(event) {
		ref, _ := objects.ParseID(blocked.Object)
		s.result.Hook = &HookReport{Ref: ref, Run: *blocked}
		s.result.wake(blocked.CompletedAt.Add(apply.RetryStalled))
		return false, nil
	}
	if !s.plan.Purge && s.plan.Blocked == nil {
		if err := s.beginRecord(ctx, s.plan.Operation); err != nil {
			return false, err
		}
	}
	succeeded, err := s.runner(s.plan.Operation).run(ctx, event)
	s.status.get().Operation = s.plan.Operation.DeepCopy()
	if failed := s.result.Hook; err == nil && !succeeded && !s.plan.Purge && failed != nil && failed.Run.Phase == addonsv1alpha1.HookFailed {
		err = s.record(s.plan.Operation, common.StatusFailed, fmt.Sprintf("%s %q failed: %s", s.plan.Operation.Kind, s.o.Chart.Release.Name, failed))
	}
	return succeeded, err
}

func (s *Stages) runner(operation *addonsv1alpha1.HelmOperation) *hookRunner {
	return &hookRunner{Target: s.Target, chart: s.o.Chart, status: s.status, operation: operation, result: s.result}
}
