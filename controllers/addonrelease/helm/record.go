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

// recorder keeps the records of one release up to date during one reconcile.
type recorder struct {
	// o has the history as it is with the records that were written since.
	o       Observation
	store   *helmrecord.Store
	tracker *tracker.Tracker
	owner   tracker.Owner
	rules   managedfields.Rules
	journal Journal
	status  *releaseStatus
	result  *Result
	// before is the record that was installed when the operation began; read when it is needed.
	before *release.Release
}

// begin writes that an operation is under way, as its hooks are about to run, unless that is written
// already. Whether it is, the release's status says; it is made sure of first, since the cache may be behind.
func (r *recorder) begin(ctx context.Context, operation *addonsv1alpha1.HelmOperation) error {
	status := pendingStatus(operation.Kind)
	if latest := r.o.History.Latest(); latest.Inputs == r.o.Inputs && latest.Status == status {
		r.result.RecordPending = true
		return nil
	}
	if err := r.journal.Confirm(ctx); err != nil {
		return fmt.Errorf("make sure that the operation is still to be made: %w", err)
	}
	return r.write(operation, status, "Hooks are running")
}

// fail writes that an operation failed.
func (r *recorder) fail(operation *addonsv1alpha1.HelmOperation, why string) error {
	return r.write(operation, helmcommon.StatusFailed, fmt.Sprintf("%s %q failed: %s", operation.Kind, r.o.Chart.Release.Name, why))
}

// finish writes that the release is deployed, and settles what other records say.
func (r *recorder) finish(operation *addonsv1alpha1.HelmOperation) error {
	if err := r.write(operation, helmcommon.StatusDeployed, description(operation)); err != nil {
		return err
	}
	version := int(r.status.get().Version)
	for _, entry := range r.o.History.Unsettled(version) {
		if err := r.store.Settle(entry); err != nil {
			return err
		}
	}
	for _, entry := range r.o.History.Outdated(version) {
		if err := r.store.Delete(entry); err != nil {
			return err
		}
	}
	return nil
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

// write writes the record of what the release is made of now: again, if the latest one is of the same,
// or as the next version.
func (r *recorder) write(operation *addonsv1alpha1.HelmOperation, status helmcommon.Status, description string) error {
	latest := r.o.History.Latest()
	again := latest.Inputs == r.o.Inputs && latest.Status != helmcommon.StatusSuperseded
	version := latest.Version + 1
	if again {
		version = latest.Version
	}
	record, err := r.build(operation, version)
	if err != nil {
		return err
	}
	record.Info.Status, record.Info.Description = status, description
	key := objects.Key{GroupKind: SecretKind.GroupKind(), Namespace: r.o.Chart.Release.Namespace, Name: r.o.Chart.Release.SecretName(version)}
	r.tracker.Claim(r.owner, key)
	r.tracker.Begin(key)
	if status.IsPending() {
		r.result.RecordPending = true // Whether or not the answer arrives.
	}
	written, err := r.put(record, again)
	var expected *tracker.Expectation
	if err == nil {
		r.result.RecordPending = status.IsPending()
		expected = &tracker.Expectation{UID: written.UID, ResourceVersion: written.ResourceVersion, Fingerprint: r.fingerprint(written)}
		r.note(version, status, written)
	}
	r.tracker.End(key, expected)
	return err
}

func (r *recorder) put(record *release.Release, again bool) (*metav1.ObjectMeta, error) {
	if again {
		return r.store.Update(r.o.History.Latest(), record, r.o.Inputs)
	}
	return r.store.Create(record, r.o.Inputs)
}

func (r *recorder) fingerprint(written *metav1.ObjectMeta) string {
	return r.rules.Assess(&metav1.PartialObjectMetadata{ObjectMeta: *written}, managedfields.Subject{Kind: SecretKind.GroupKind()}).Fingerprint
}

// note takes what was written into the history and the status.
func (r *recorder) note(version int, status helmcommon.Status, written *metav1.ObjectMeta) {
	entry := helmrecord.Entry{Version: version, Status: status, Inputs: r.o.Inputs, UID: written.UID}
	if r.o.History.Latest().Version == version {
		r.o.History[0] = entry
	} else {
		r.o.History = append(helmrecord.History{entry}, r.o.History...)
	}
	said := r.status.get()
	said.Version = int32(version)
	said.Record = &metav1alpha1.InventoryEntry{
		ID:  objects.Ref{GroupVersionKind: SecretKind, Namespace: written.Namespace, Name: written.Name}.ID(),
		UID: string(written.UID), Fingerprint: r.fingerprint(written),
	}
}

// purge removes all records; ours last, since they tell that the release is ours to end.
func (r *recorder) purge() error {
	if err := r.store.Confirm(); err != nil {
		return err
	}
	for _, ours := range []bool{false, true} {
		for _, entry := range r.o.History {
			if entry.IsOurs() != ours {
				continue
			}
			if err := r.store.Delete(entry); err != nil {
				return err
			}
		}
	}
	return nil
}
