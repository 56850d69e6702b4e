package addonrelease

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

var secretKind = corev1.SchemeGroupVersion.WithKind("Secret")

// observeRecord looks at what the watch saw of the record that was written last.
func (r *Reconciler) observeRecord(ctx context.Context, o *observed, cluster *fleet.Cluster) error {
	o.tests = metav1alpha1.TestsRequested(o.release)
	if o.tests == "" {
		o.tests = o.release.Spec.RunTests
	}
	key, ok := recordKey(o.release)
	if !ok {
		return nil
	}
	if err := cluster.Watch(ctx, secretKind); err != nil {
		return fmt.Errorf("watch the Helm release's record: %w", err)
	}
	if o.awaits(secretKind.GroupKind(), cluster.Tracker.Kind(secretKind.GroupKind())) {
		return nil
	}
	o.recordSeen, o.recordDrifted = cluster.Tracker.Look(key)
	return nil
}

// recordKey names the record that was written last.
func recordKey(release *addonsv1alpha1.AddonRelease) (objects.Key, bool) {
	ref, ok := recordRef(release)
	return ref.Key(), ok
}

func recordRef(release *addonsv1alpha1.AddonRelease) (objects.Ref, bool) {
	if release.Status.Helm == nil || release.Status.Helm.Record == nil {
		return objects.Ref{}, false
	}
	ref, err := objects.ParseID(release.Status.Helm.Record.ID)
	return ref, err == nil
}

// releaseKey stands for a Helm release as a whole, so that no two targets keep the same.
func releaseKey(release helm.Release) objects.Key {
	return objects.Key{GroupKind: secretKind.GroupKind(), Namespace: release.Namespace, Name: "sh.helm.release.v1." + release.Name}
}

// belongsToHelm is whether an object is the release itself, its record, or a hook that runs.
func belongsToHelm(target *addonsv1alpha1.AddonRelease, key objects.Key) bool {
	status := target.Status.Helm
	if status == nil {
		return false
	}
	if key == releaseKey(helm.Release{Namespace: status.Namespace, Name: status.Name}) {
		return true
	}
	if record, ok := recordKey(target); ok && key == record {
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

// claimHelm tells the tracker of the release that a target owns already.
func claimHelm(tracker *fleet.Tracker, target *addonsv1alpha1.AddonRelease) {
	status := target.Status.Helm
	if status == nil {
		return
	}
	tracker.Claim(ownerOf(target), releaseKey(helm.Release{Namespace: status.Namespace, Name: status.Name}))
	for _, key := range runningHooks(status) {
		tracker.Claim(ownerOf(target), key)
	}
	if key, ok := recordKey(target); ok {
		tracker.Claim(ownerOf(target), key)
		tracker.Expect(key, fleet.Expectation{UID: types.UID(status.Record.UID), Fingerprint: status.Record.Fingerprint})
	}
}

// observeHistory reads the release's history where it matters: something is to be done to it.
func (r *Reconciler) observeHistory(ctx context.Context, o *observed, release helm.Release, cluster chartCluster) error {
	settled := o.settled() && o.release.DeletionTimestamp.IsZero()
	if settled && !o.recordDrifted && testsDue(*o) == "" {
		return nil
	}
	secrets, err := cluster.List(ctx, secretKind, release.Namespace, release.Selector())
	if err != nil {
		return fmt.Errorf("look up the records of Helm release %s: %w", release, err)
	}
	o.history = helm.NewHistory(release, secrets)
	if !o.release.DeletionTimestamp.IsZero() {
		return nil
	}
	if settled && o.corrects() && takesRecordBack(*o) && o.history.SetBack(o.inputs) {
		o.beginAnew()
	}
	return o.refuseForeign(release)
}

// beginAnew forgets that the operation for the inputs was ever made: the cluster was put back to before it, and the data
// that its hooks changed with it.
func (o *observed) beginAnew() {
	o.release.Status.InputsHash, o.release.Status.Applying = "", ""
	o.release.Status.Helm.Operation = nil
}

// replaces is whether objects of our deployed record may be in no inventory: the cluster or the management cluster was
// put back, or the release was kept when the one before this was deleted.
func (o observed) replaces() bool {
	return o.release.Status.InputsHash == "" && o.history.Replaced(o.inputs).IsOurs()
}

// observeUnrendered finds out what is needed to end a release whose chart cannot be rendered any more:
// the inventory knows its objects, the cluster its records. Only its hooks are unknown.
func (r *Reconciler) observeUnrendered(ctx context.Context, o *observed, cluster chartCluster) error {
	known := o.release.Status.Helm
	o.chart = &chart{release: helm.Release{Namespace: known.Namespace, Name: known.Name}, title: known.Chart}
	return r.observeHistory(ctx, o, o.chart.release, cluster)
}

// refuseForeign: a release that somebody else made is theirs, unless it is to be adopted.
func (o *observed) refuseForeign(release helm.Release) error {
	known := o.release.Status.Helm
	ours := known != nil && known.Version > 0 && known.Name == release.Name && known.Namespace == release.Namespace
	if o.release.Spec.Adopt || ours || o.history.Installed().Version == 0 || o.history.HasOurs() {
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

// helmStatus is the part of the status that speaks of the Helm release, made if need be.
func (o *observed) helmStatus() *addonsv1alpha1.HelmRelease {
	status := &o.release.Status
	if status.Helm == nil {
		status.Helm = &addonsv1alpha1.HelmRelease{}
	}
	status.Helm.Name, status.Helm.Namespace, status.Helm.Chart = o.chart.release.Name, o.chart.release.Namespace, o.chart.title
	return status.Helm
}
