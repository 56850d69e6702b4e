package addonrelease

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

var secretKind = corev1.SchemeGroupVersion.WithKind("Secret")

// helmObservation is what is to be known of a chart's release beside its objects.
type helmObservation struct {
	now time.Time
	// status is what the target's status says of the Helm release; nil if there is none.
	status *addonsv1alpha1.HelmRelease
	// chart is what the desired objects come with; nil for manifests, and as long as they are not known.
	chart *chart
	// inputs of what is to be deployed; deployed are those of what was deployed completely last.
	inputs, deployed string
	// settled: what is to be in the cluster was applied completely, and nothing else was begun since.
	settled bool
	// deleted: the target is being deleted.
	deleted bool
	// skipsDeleteHooks: a person wants the release to be removed without its hooks.
	skipsDeleteHooks bool
	suspended        bool
	requested        bool
	// corrects: what others change is put right.
	corrects bool
	// adopts: a release that another program made is taken over.
	adopts bool
	// recordReady is when the next correction of the record may be made; it may be in the past.
	recordReady time.Time

	// history of the Helm release, where something is to be done to it.
	history helm.History
	// recordDrifted: somebody changed the Helm release's record, or took its place.
	recordDrifted bool
	// recordPending: as far as is known, the record says that an operation is under way.
	recordPending bool
	// recordSeen is what the watch saw of it.
	recordSeen *fleet.Seen
	// tests is the token of the tests that somebody asks for.
	tests string
	// unrendered is why a release ends without its hooks: nothing can tell any more what they are.
	unrendered error
}

// replaces is whether objects of our deployed record may be in no inventory: the cluster or the management cluster was
// put back, or the release was kept when the one before this was deleted.
func (o helmObservation) replaces() bool {
	return o.deployed == "" && o.history.Replaced(o.inputs).IsOurs()
}

// recordKey names the record that was written last.
func recordKey(status *addonsv1alpha1.HelmRelease) (objects.Key, bool) {
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

// releaseKey stands for a Helm release as a whole, so that no two targets keep the same.
func releaseKey(release helm.Release) objects.Key {
	return objects.Key{GroupKind: secretKind.GroupKind(), Namespace: release.Namespace, Name: "sh.helm.release.v1." + release.Name}
}

// belongsToHelm is whether an object is the release itself, its record, or a hook that runs.
func belongsToHelm(status *addonsv1alpha1.HelmRelease, key objects.Key) bool {
	if status == nil {
		return false
	}
	if key == releaseKey(helm.Release{Namespace: status.Namespace, Name: status.Name}) {
		return true
	}
	if record, ok := recordKey(status); ok && key == record {
		return true
	}
	return slices.Contains(runningHooks(status), key)
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

// claimHelm tells the tracker of the Helm release that a target owns already.
func claimHelm(tracker *fleet.Tracker, owner fleet.Owner, status *addonsv1alpha1.HelmRelease) {
	if status == nil {
		return
	}
	tracker.Claim(owner, releaseKey(helm.Release{Namespace: status.Namespace, Name: status.Name}))
	for _, key := range runningHooks(status) {
		tracker.Claim(owner, key)
	}
	if key, ok := recordKey(status); ok {
		tracker.Claim(owner, key)
		tracker.Expect(key, fleet.Expectation{UID: types.UID(status.Record.UID), Fingerprint: status.Record.Fingerprint})
	}
}

// historyLister lists the records of Helm releases.
type historyLister interface {
	List(ctx context.Context, kind schema.GroupVersionKind, namespace, selector string) ([]metav1.PartialObjectMetadata, error)
}

// readHistory reads a release's history where it matters: something is to be done to it.
func readHistory(ctx context.Context, o helmObservation, release helm.Release, cluster historyLister) (helm.History, error) {
	if o.settled && !o.deleted && !o.recordDrifted && testsDue(o.tests, o.status) == "" {
		return nil, nil
	}
	secrets, err := cluster.List(ctx, secretKind, release.Namespace, release.Selector())
	if err != nil {
		return nil, fmt.Errorf("look up the records of Helm release %s: %w", release, err)
	}
	return helm.NewHistory(release, secrets), nil
}

// isSetBack: the cluster was put back to before the operation for the inputs, and the data that its hooks changed with
// it.
func (o helmObservation) isSetBack() bool {
	return o.settled && !o.deleted && !o.suspended && revertsRecord(o) && o.history.SetBack(o.inputs)
}

// refuseForeign: a release that another program made is theirs, unless it is to be adopted.
func refuseForeign(o helmObservation, release helm.Release) error {
	known := o.status
	ours := known != nil && known.Version > 0 && known.Name == release.Name && known.Namespace == release.Namespace
	if o.deleted || o.adopts || ours || o.history.Installed().Version == 0 || o.history.HasOurs() {
		return nil
	}
	found := o.history.Installed()
	return &foreignReleaseError{release: release, version: found.Version, status: string(found.Status)}
}

// foreignReleaseError is a Helm release that Daytwo did not make.
type foreignReleaseError struct {
	release helm.Release
	version int
	status  string
}

func (e *foreignReleaseError) Error() string {
	return fmt.Sprintf("Helm release %s is there already (version %d, %s) and was not made by Daytwo; "+
		"set spec.adopt: true to take it over as it is, uninstall it, or set spec.source.chart.releaseName", e.release, e.version, e.status)
}
