package addonrelease

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmcommon "helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// recorder keeps the records of one release up to date during one reconcile.
type recorder struct {
	*Reconciler
	o       *observed
	store   *helm.Store
	tracker *fleet.Tracker
	// before is the record that was installed when the operation began; read when it is needed.
	before *release.Release
}

func (r *Reconciler) newRecorder(ctx context.Context, o *observed, cluster chartCluster, tracker *fleet.Tracker) (*recorder, error) {
	store, err := helm.NewStore(ctx, cluster, o.chart.release, r.Installation)
	if err != nil {
		return nil, err
	}
	return &recorder{Reconciler: r, o: o, store: store, tracker: tracker}, nil
}

// begin writes that an operation is under way, as its hooks are about to run, unless that is written
// already. Whether it is, the release's status says; it is made sure of first, since the cache may be behind.
func (r *recorder) begin(ctx context.Context, operation *addonsv1alpha1.HelmOperation) error {
	status := pendingStatus(operation.Kind)
	if latest := r.o.history.Latest(); latest.Inputs == r.o.inputs && latest.Status == status {
		r.pending(true)
		return nil
	}
	if !r.o.recorded {
		if err := r.record(ctx, r.o); err != nil {
			return fmt.Errorf("make sure that the operation is still to be made: %w", err)
		}
	}
	return r.write(operation, status, "Hooks are running")
}

// fail writes that an operation failed.
func (r *recorder) fail(operation *addonsv1alpha1.HelmOperation, why string) error {
	return r.write(operation, helmcommon.StatusFailed, fmt.Sprintf("%s %q failed: %s", operation.Kind, r.o.chart.release.Name, why))
}

// finish writes that the release is deployed, and settles what other records say.
func (r *recorder) finish(operation *addonsv1alpha1.HelmOperation) error {
	if err := r.write(operation, helmcommon.StatusDeployed, description(operation)); err != nil {
		return err
	}
	version := int(r.o.helmStatus().Version)
	for _, entry := range r.o.history.Unsettled(version) {
		if err := r.store.Settle(entry); err != nil {
			return err
		}
	}
	for _, entry := range r.o.history.Outdated(version) {
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
	latest := r.o.history.Latest()
	again := latest.Inputs == r.o.inputs && latest.Status != helmcommon.StatusSuperseded
	version := latest.Version + 1
	if again {
		version = latest.Version
	}
	record, err := r.build(operation, version)
	if err != nil {
		return err
	}
	record.Info.Status, record.Info.Description = status, description
	key := objects.Key{GroupKind: secretKind.GroupKind(), Namespace: r.o.chart.release.Namespace, Name: r.o.chart.release.SecretName(version)}
	r.tracker.Claim(ownerOf(r.o.release), key)
	r.tracker.Begin(key)
	if status.IsPending() {
		r.pending(true) // Whether or not the answer arrives.
	}
	written, err := r.put(record, again)
	var expected *fleet.Expectation
	if err == nil {
		r.pending(status.IsPending())
		expected = &fleet.Expectation{UID: written.UID, ResourceVersion: written.ResourceVersion, Fingerprint: r.fingerprint(written)}
		r.note(version, status, written)
	}
	r.tracker.End(key, expected)
	return err
}

// pending keeps in mind whether the latest record says that an operation is under way, or may do.
func (r *recorder) pending(is bool) {
	r.o.recordPending = is
	r.memory.of(client.ObjectKeyFromObject(r.o.release)).recordPending = is
}

func (r *recorder) put(record *release.Release, again bool) (*metav1.ObjectMeta, error) {
	if again {
		return r.store.Update(r.o.history.Latest(), record, r.o.inputs)
	}
	return r.store.Create(record, r.o.inputs)
}

func (r *recorder) fingerprint(written *metav1.ObjectMeta) string {
	return r.Rules.Assess(&metav1.PartialObjectMetadata{ObjectMeta: *written}, managedfields.Subject{Kind: secretKind.GroupKind()}).Fingerprint
}

// note keeps in mind, and in the status, what was written.
func (r *recorder) note(version int, status helmcommon.Status, written *metav1.ObjectMeta) {
	entry := helm.Entry{Version: version, Status: status, Inputs: r.o.inputs, UID: written.UID}
	if r.o.history.Latest().Version == version {
		r.o.history[0] = entry
	} else {
		r.o.history = append(helm.History{entry}, r.o.history...)
	}
	said := r.o.helmStatus()
	said.Version = int32(version)
	said.Record = &addonsv1alpha1.InventoryEntry{
		ID:  objects.Ref{GroupVersionKind: secretKind, Namespace: written.Namespace, Name: written.Name}.ID(),
		UID: string(written.UID), Fingerprint: r.fingerprint(written),
	}
}

// build makes a record of the rendering and of the course of the operation.
func (r *recorder) build(operation *addonsv1alpha1.HelmOperation, version int) (*release.Release, error) {
	record := &release.Release{}
	if err := json.Unmarshal(r.o.chart.record, record); err != nil {
		return nil, fmt.Errorf("record of Helm release %s: %w", r.o.chart.release, err)
	}
	if record.Info == nil {
		record.Info = &release.Info{}
	}
	if err := r.readBefore(); err != nil {
		return nil, err
	}
	record.Version = version
	record.Info.FirstDeployed, record.Info.LastDeployed = r.o.now, r.o.now
	if r.before != nil && !r.before.Info.FirstDeployed.IsZero() {
		record.Info.FirstDeployed = r.before.Info.FirstDeployed
	}
	if err := r.keepCourse(record, operation); err != nil {
		return nil, err
	}
	// Others than Helm own the fields of the objects: a person's upgrade that applies on the server's side
	// would meet conflicts wherever it changes something.
	record.ApplyMethod = string(release.ApplyMethodClientSideApply)
	if operation != nil {
		setLastRuns(record.Hooks, operation.Hooks, r.o.chart.hooks)
	}
	return record, nil
}

// readBefore reads the record that is installed, which knows when the release was deployed first.
func (r *recorder) readBefore() error {
	installed := r.o.history.Installed()
	if r.before != nil || installed.Version == 0 {
		return nil
	}
	var err error
	r.before, err = r.store.Read(installed.Version)
	return err
}

// keepCourse takes over what is known of hooks that have run: before in the same deployment, or in the
// one that a rollback goes back to.
func (r *recorder) keepCourse(record *release.Release, operation *addonsv1alpha1.HelmOperation) error {
	if r.before != nil && r.before.Version == record.Version {
		record.Info.LastDeployed = r.before.Info.LastDeployed
		keepLastRuns(record.Hooks, r.before.Hooks)
		return nil
	}
	if operation == nil || operation.Kind != addonsv1alpha1.HelmRollback {
		return nil
	}
	back, err := r.store.Read(int(operation.RollbackTo))
	if err == nil && back != nil {
		keepLastRuns(record.Hooks, back.Hooks)
	}
	return err
}

func keepLastRuns(hooks, before []*release.Hook) {
	for _, one := range hooks {
		for _, old := range before {
			if hookIdentity(one.Path, one.Kind, one.Name) == hookIdentity(old.Path, old.Kind, old.Name) {
				one.LastRun, one.DeletePolicies = old.LastRun, old.DeletePolicies
			}
		}
	}
}

// setLastRuns tells of each hook in a record how its last run came out.
func setLastRuns(hooks []*release.Hook, runs []addonsv1alpha1.HookRun, declared []hook) {
	paths := map[string]string{}
	for _, one := range declared {
		paths[one.ID()] = hookIdentity(one.path, one.Kind, one.Name)
	}
	for _, run := range runs {
		for _, one := range hooks {
			if hookIdentity(one.Path, one.Kind, one.Name) != paths[run.Object] {
				continue
			}
			one.LastRun = release.HookExecution{StartedAt: run.StartedAt.Time, Phase: release.HookPhase(run.Phase)}
			if len(one.DeletePolicies) == 0 {
				// Helm writes its default into the record when a hook runs.
				one.DeletePolicies = []release.HookDeletePolicy{release.HookBeforeHookCreation}
			}
			if run.CompletedAt != nil {
				one.LastRun.CompletedAt = run.CompletedAt.Time
			}
		}
	}
}

func hookIdentity(path, kind, name string) string { return path + "\n" + kind + "\n" + name }

// purge removes all records; ours last, since they tell that the release is ours to end.
func (r *recorder) purge() error {
	if err := r.store.Confirm(); err != nil {
		return err
	}
	for _, ours := range []bool{false, true} {
		for _, entry := range r.o.history {
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
