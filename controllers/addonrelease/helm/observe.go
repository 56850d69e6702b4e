package helm

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// SecretKind is the kind of the records of Helm releases.
var SecretKind = corev1.SchemeGroupVersion.WithKind("Secret")

// Observation is what is to be known of a chart's release beside its objects.
type Observation struct {
	Now time.Time
	// Status is what the target's status says of the Helm release; nil if there is none.
	Status *addonsv1alpha1.HelmRelease
	// Chart is what the desired objects come with; nil for manifests, and as long as they are not known.
	Chart *Chart
	// Inputs of what is to be deployed; Deployed are those of what was deployed completely last.
	Inputs, Deployed string
	// Settled: what is to be in the cluster was applied completely, and nothing else was begun since.
	Settled bool
	// Deleted: the target is being deleted.
	Deleted bool
	// SkipsDeleteHooks: a person wants the release to be removed without its hooks.
	SkipsDeleteHooks bool
	Suspended        bool
	Requested        bool
	// Corrects: what others change is put right.
	Corrects bool
	// Adopts: a release that another program made is taken over.
	Adopts bool
	// RecordReady is when the next correction of the record may be made; it may be in the past.
	RecordReady time.Time

	// History of the Helm release, where something is to be done to it.
	History helmrecord.History
	// RecordDrifted: somebody changed the Helm release's record, or took its place.
	RecordDrifted bool
	// RecordGone: the record that was written last is not there, and the others are of a time before its operation.
	RecordGone bool
	// RecordPending: as far as is known, the record says that an operation is under way.
	RecordPending bool
	// RecordSeen is what the watch saw of it.
	RecordSeen *tracker.Seen
	// Tests is the token of the tests that somebody asks for.
	Tests string
	// Unrendered is why a release ends without its hooks: nothing can tell any more what they are.
	Unrendered error
}

// replaces is whether objects of our deployed record may be in no inventory: the cluster or the management cluster was
// put back, or the release was kept when the one before this was deleted.
func (o Observation) replaces() bool {
	return o.Deployed == "" && o.History.Replaced(o.Inputs).IsOurs()
}

// RecordKey names the record that was written last.
func RecordKey(status *addonsv1alpha1.HelmRelease) (objects.Key, bool) {
	ref, ok := recordRef(status)
	return ref.Key(), ok
}

func recordRef(status *addonsv1alpha1.HelmRelease) (objects.Ref, bool) {
	if status == nil || status.Record == nil {
		return objects.Ref{}, false
	}
	ref, err := objects.ParseID(status.Record.ID)
	return ref, err == nil
}

// ReleaseKey stands for a Helm release as a whole, so that no two targets keep the same.
func ReleaseKey(release helmrecord.Release) objects.Key {
	return objects.Key{GroupKind: SecretKind.GroupKind(), Namespace: release.Namespace, Name: "sh.helm.release.v1." + release.Name}
}

// runningHooks are the objects of hooks that have not ended, as far as is known.
func runningHooks(status *addonsv1alpha1.HelmRelease) []objects.Key {
	if status.Operation == nil {
		return nil
	}
	var running []objects.Key
	for _, run := range status.Operation.Hooks {
		if ref, err := objects.ParseID(run.Object); err == nil && run.Phase == addonsv1alpha1.HookRunning {
			running = append(running, ref.Key())
		}
	}
	return running
}

// Beside is what a target has in its cluster because of a Helm release: the release itself, its record, and the hooks
// that run.
func Beside(status *addonsv1alpha1.HelmRelease) target.Beside {
	if status == nil {
		return target.Beside{}
	}
	beside := target.Beside{Claims: map[objects.Key]tracker.Expectation{
		ReleaseKey(helmrecord.Release{Namespace: status.Namespace, Name: status.Name}): {},
	}}
	for _, key := range runningHooks(status) {
		beside.Claims[key] = tracker.Expectation{}
	}
	if record := status.Record; record != nil {
		beside.Left = []tenancyv1alpha1.OrphanObject{{ID: record.ID, UID: record.UID}}
	}
	if key, ok := RecordKey(status); ok {
		beside.Claims[key] = tracker.Expectation{UID: types.UID(status.Record.UID), Fingerprint: status.Record.Fingerprint}
	}
	return beside
}

// ReadHistory reads a release's history where it matters: something is to be done to it.
func ReadHistory(ctx context.Context, o Observation, release helmrecord.Release, cluster *fleet.Cluster) (helmrecord.History, error) {
	if o.Settled && !o.Deleted && !o.RecordDrifted && TestsDue(o.Tests, o.Status) == "" {
		return nil, nil
	}
	secrets, err := cluster.List(ctx, SecretKind, release.Namespace, release.Selector())
	if err != nil {
		return nil, fmt.Errorf("look up the records of Helm release %s: %w", release, err)
	}
	return helmrecord.NewHistory(release, secrets), nil
}

// ReadRecord finds out whether the record that was written last is gone, where the others are of a time before the operation
// for the inputs, though that was made, or its hooks were begun. A list alone may be an old one.
func ReadRecord(ctx context.Context, o Observation, cluster *fleet.Cluster) (gone bool, err error) {
	ref, known := recordRef(o.Status)
	begun := begunFor(o, o.Inputs)
	made := o.Deployed == o.Inputs || begun != nil && len(begun.Hooks) > 0
	if !known || !made || !o.writesRecord() || !o.History.Precedes(o.Inputs) {
		return false, nil
	}
	if err := cluster.Confirm(ctx); err != nil {
		return false, err
	}
	if _, err = cluster.Get(ctx, ref); apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up the record %s: %w", ref, err)
	}
	return false, nil
}

// IsSetBack is whether the cluster was put back to before the operation for the inputs, which was made to its end, and the
// data that its hooks changed with it; or the management cluster to before a later one.
func (o Observation) IsSetBack() bool {
	if o.Deployed != o.Inputs {
		return false
	}
	// Without a change of the record, the list may be an old one, or the status came late and says too early that all is done.
	changed := o.writesRecord() && revertsRecord(o)
	return o.RecordGone || changed && (o.History.Precedes(o.Inputs) || o.History.IsWithin(o.Inputs))
}

// WithoutLostHooks returns the operation for the inputs with its hooks taken as failed, so that they run again, and no more often
// than ones that fail: the cluster was put back to before it, while it was under way. It returns nil where that did not happen, or
// no hook ran. An operation has a record from before its first hook on.
func (o Observation) WithoutLostHooks() *addonsv1alpha1.HelmOperation {
	begun := begunFor(o, o.Inputs)
	if begun == nil || len(begun.Hooks) == 0 || !o.RecordGone || o.Deployed == o.Inputs {
		return nil
	}
	operation := begun.DeepCopy()
	for i := range operation.Hooks {
		run := &operation.Hooks[i]
		run.Phase, run.Message = addonsv1alpha1.HookFailed, "ran before the cluster was put back to an earlier state"
		if run.CompletedAt == nil {
			run.CompletedAt = &run.StartedAt
		}
	}
	return operation
}

// writesRecord is whether the release's record is to say that it is deployed.
func (o Observation) writesRecord() bool {
	return !o.Deleted && !o.Suspended && (!o.Settled || revertsRecord(o))
}

// RefuseForeign returns a target.Verdict for a release that another program made, unless it is to be adopted.
func RefuseForeign(o Observation, release helmrecord.Release) error {
	known := o.Status
	ours := known != nil && known.Version > 0 && known.Name == release.Name && known.Namespace == release.Namespace
	if o.Deleted || o.Adopts || ours || o.History.Installed().Version == 0 || o.History.HasOurs() {
		return nil
	}
	found := o.History.Installed()
	return &target.Verdict{Reason: metav1alpha1.ReasonConflict, Stalled: true, Message: fmt.Sprintf(
		"Helm release %s is there already (version %d, %s) and was not made by Daytwo; "+
			"set spec.adopt: true to take it over as it is, uninstall it, or set spec.source.chart.releaseName", release, found.Version, found.Status)}
}
