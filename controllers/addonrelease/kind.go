package addonrelease

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

const ownerKind = "AddonRelease"

// remembered is what is remembered of a release beside its objects. It can be found out anew.
type remembered struct {
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
	owner := r.room.Owner(release)
	target.RestoreObjects(tracker, owner, release.Status.Inventory, r.Rules, release.Spec.Drift)
	helm.Claim(tracker, owner, release.Status.Helm)
}

// latestStatus is the status of a release, or the one that was not written yet.
func latestStatus(release *addonsv1alpha1.AddonRelease, known *known) (status addonsv1alpha1.AddonReleaseStatus, restored bool) {
	if postponed, ok := known.Postponed(release); ok {
		return *postponed.DeepCopy(), true
	}
	return *release.Status.DeepCopy(), false
}
