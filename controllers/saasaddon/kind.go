package saasaddon

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/targetstate"
)

// reasons of an AddonRelease that is not Ready.
var reasons = targetstate.Reasons{
	Progressing: []string{metav1alpha1.ReasonWaiting, addonsv1alpha1.ReasonHookRunning},
	Unusable:    []string{metav1alpha1.ReasonKindUnavailable},
}

// NewPolicy implements policy.Kind.
func (r *Reconciler) NewPolicy() *addonsv1alpha1.SaaSAddon { return &addonsv1alpha1.SaaSAddon{} }

// NewTarget implements policy.Kind.
func (r *Reconciler) NewTarget() *addonsv1alpha1.AddonRelease { return &addonsv1alpha1.AddonRelease{} }

// CopyStatus implements policy.Kind.
func (r *Reconciler) CopyStatus(to, from *addonsv1alpha1.SaaSAddon) {
	to.Status = *from.Status.DeepCopy()
}

// CopySpec implements policy.Kind.
func (r *Reconciler) CopySpec(to, from *addonsv1alpha1.AddonRelease) { to.Spec = *from.Spec.DeepCopy() }

// SyncSettings implements policy.Kind.
func (r *Reconciler) SyncSettings(target *addonsv1alpha1.AddonRelease, addon *addonsv1alpha1.SaaSAddon) {
	drift := addon.Spec.Drift.WithDefaults()
	target.Spec.Drift = *drift.DeepCopy()
	target.Spec.RunTests = metav1alpha1.TestsRequested(addon)
	target.Spec.Adopt = addon.Spec.Adopt
}

// SettingsCurrent implements policy.Kind.
func (r *Reconciler) SettingsCurrent(target *addonsv1alpha1.AddonRelease, addon *addonsv1alpha1.SaaSAddon) bool {
	return target.Spec.RunTests == metav1alpha1.TestsRequested(addon) && target.Spec.Adopt == addon.Spec.Adopt &&
		equality.Semantic.DeepEqual(target.Spec.Drift, addon.Spec.Drift.WithDefaults())
}

// State implements policy.Kind.
func (r *Reconciler) State(target *addonsv1alpha1.AddonRelease) (rollout.State, string) {
	return reasons.State(target)
}

// Objects implements policy.Kind.
func (r *Reconciler) Objects(target *addonsv1alpha1.AddonRelease) []string {
	return target.Status.ObjectIDs()
}

// Forget implements policy.Kind.
func (r *Reconciler) Forget(addon types.NamespacedName) {
	r.fetches.forget(addon)
	r.Charts.Forget(addon)
}

// Withdrawal says what the guard would make of the clusters that an add-on loses if it is as given.
func Withdrawal(
	ctx context.Context, cached client.Client, addon *addonsv1alpha1.SaaSAddon, providerNamespace string, now time.Time,
) (rollout.Withdrawal, error) {
	return policy.Withdrawal(ctx, cached, &Reconciler{}, addon, providerNamespace, now)
}
