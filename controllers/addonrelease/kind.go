package addonrelease

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

const ownerKind = "AddonRelease"

// remembered is what is remembered of a release. All of it can be found out anew.
type remembered struct {
	// set is what is remembered of the objects.
	set apply.Memory
	// reported is the drift that was left in place and counted, by the fingerprint that showed it.
	reported map[objects.Key]string
	// recordPending: the record of the Helm release says that an operation is under way, or may do.
	recordPending bool
}

// Name implements target.Kind.
func (r *Reconciler) Name() string { return ownerKind }

// New implements target.Kind.
func (r *Reconciler) New() *addonsv1alpha1.AddonRelease { return &addonsv1alpha1.AddonRelease{} }

// NewList implements target.Kind.
func (r *Reconciler) NewList() client.ObjectList { return &addonsv1alpha1.AddonReleaseList{} }

// Status implements target.Kind.
func (r *Reconciler) Status(release *addonsv1alpha1.AddonRelease) *addonsv1alpha1.AddonReleaseStatus {
	return &release.Status
}

// CopyStatus implements target.Kind.
func (r *Reconciler) CopyStatus(to, from *addonsv1alpha1.AddonReleaseStatus) { *to = *from.DeepCopy() }

// Restore implements target.Kind.
func (r *Reconciler) Restore(tracker *fleet.Tracker, release *addonsv1alpha1.AddonRelease) {
	stored, err := apply.ReadInventory(release.Status.Inventory)
	if err != nil {
		return // Its own reconcile tells.
	}
	owner := r.room.Owner(release)
	settings, version := target.SettingsOf(release.Spec.Drift), target.RulesVersion(r.Rules, release.Spec.Drift)
	for key, e := range stored {
		tracker.Claim(owner, key)
		tracker.Tolerate(key, settings.Tolerance(version, e.Ref, e.Environment))
		tracker.Expect(key, fleet.Expectation{UID: e.UID, Fingerprint: e.Fingerprint})
	}
	helm.Claim(tracker, owner, release.Status.Helm)
}

// latestStatus is the status of a release, or the one that was not written yet.
func latestStatus(release *addonsv1alpha1.AddonRelease, known *known) (status addonsv1alpha1.AddonReleaseStatus, restored bool) {
	if postponed, ok := known.Postponed(release); ok {
		return *postponed.DeepCopy(), true
	}
	return *release.Status.DeepCopy(), false
}
