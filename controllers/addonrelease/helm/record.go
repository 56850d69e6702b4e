package helm

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmcommon "helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// beginRecord writes that an operation is under way, as its hooks are about to run, unless that is written
// already. Whether it is, the release's status says; it is made sure of first, since the cache may be behind.
func (s *Stages) beginRecord(ctx context.Context, operation *addonsv1alpha1.HelmOperation) error {
	status := pendingStatus(operation.Kind)
	if latest := s.records.History.Latest(); latest.Inputs == s.o.Inputs && latest.Status == status {
		s.result.RecordPending = true
		return nil
	}
	if err := s.Journal.Confirm(ctx); err != nil {
		return fmt.Errorf("make sure that the operation is still to be made: %w", err)
	}
	return s.record(operation, status, "Hooks are running")
}

// finishRecord writes that the release is deployed, and settles what other records say.
func (s *Stages) finishRecord(operation *addonsv1alpha1.HelmOperation) error {
	if err := s.record(operation, helmcommon.StatusDeployed, description(operation)); err != nil {
		return err
	}
	return s.records.SettleOthers()
}

func description(operation *addonsv1alpha1.HelmOperation) string {
	switch {
	case operation == nil:
		return "Taken back by Daytwo"
	case operation.Kind == addonsv1alpha1.HelmRollback:
		return fmt.Sprintf("Rollback to %d", operation.RollbackTo)
	}
	return string(operation.Kind) + " complete"
}

// record writes the record of what the release is made of now. Its watch knows what to expect.
func (s *Stages) record(operation *addonsv1alpha1.HelmOperation, status helmcommon.Status, description string) error {
	draft, err := s.records.Draft(s.courseOf(operation, status, description))
	if err != nil {
		return err
	}
	key := objects.Key{GroupKind: SecretKind.GroupKind(), Namespace: s.o.Chart.Release.Namespace, Name: s.o.Chart.Release.SecretName(draft.Version)}
	s.Cluster.Tracker.Claim(s.Owner, key)
	s.Cluster.Tracker.Begin(key)
	if status.IsPending() {
		s.result.RecordPending = true // Whether or not the answer arrives.
	}
	written, err := s.records.Write(draft)
	var expected *tracker.Expectation
	if err == nil {
		s.result.RecordPending = status.IsPending()
		fingerprint := s.Rules.Assess(&metav1.PartialObjectMetadata{ObjectMeta: *written}, managedfields.Subject{Kind: SecretKind.GroupKind()}).Fingerprint
		expected = &tracker.Expectation{UID: written.UID, ResourceVersion: written.ResourceVersion, Fingerprint: fingerprint}
		said := s.status.get()
		said.Version = int32(draft.Version)
		said.Record = &metav1alpha1.InventoryEntry{
			ID:  objects.Ref{GroupVersionKind: SecretKind, Namespace: written.Namespace, Name: written.Name}.ID(),
			UID: string(written.UID), Fingerprint: fingerprint,
		}
	}
	s.Cluster.Tracker.End(key, expected)
	return err
}

// courseOf is what the record tells of an operation, which is nil if only the record is put right.
func (s *Stages) courseOf(operation *addonsv1alpha1.HelmOperation, status helmcommon.Status, description string) helmrecord.Course {
	course := helmrecord.Course{Status: status, Description: description}
	if operation == nil {
		return course
	}
	if operation.Kind == addonsv1alpha1.HelmRollback {
		course.RollbackTo = int(operation.RollbackTo)
	}
	hooks := map[string]helmrecord.HookID{}
	for _, one := range s.o.Chart.Hooks {
		hooks[one.ID()] = helmrecord.HookID{Path: one.path, Kind: one.Kind, Name: one.Name}
	}
	for _, run := range operation.Hooks {
		ran := helmrecord.Run{
			Hook:          hooks[run.Object],
			HookExecution: release.HookExecution{StartedAt: run.StartedAt.Time, Phase: release.HookPhase(run.Phase)},
		}
		if run.CompletedAt != nil {
			ran.CompletedAt = run.CompletedAt.Time
		}
		course.Runs = append(course.Runs, ran)
	}
	return course
}
