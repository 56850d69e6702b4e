package addonrelease

import (
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// The verb manage tells the manager from everybody else: see config/admission/manager_only.yaml.
// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=addonreleases,verbs=get;list;watch;patch;manage
// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=addonreleases/status,verbs=get;patch
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps AddonReleases as their revisions declare them. It is their target.DeclaredKind and target.StagedKind.
type Reconciler struct {
	notStaged

	// Room of the releases.
	Room *Room
	// Renderer of manifests.
	Renderer *render.Pool
	// Rules that say which changes are drift.
	Rules managedfields.Rules
	// Installation is the value of the label daytwo.dev/managed-by.
	Installation string
	Clock        clock.PassiveClock
	// WebhookPatience of removals; DefaultWebhookPatience if it is zero.
	WebhookPatience time.Duration

	caches caches
}

// Room is the life of AddonReleases.
type Room = target.Reconciler[*addonsv1alpha1.AddonRelease, addonsv1alpha1.AddonReleaseStatus, struct{}]

type (
	notStaged        = target.NotStaged[*addonsv1alpha1.AddonRelease, addonsv1alpha1.AddonReleaseStatus, extra]
	declaredReleases = target.Declared[*addonsv1alpha1.AddonRelease, addonsv1alpha1.AddonReleaseStatus, extra]
	observation      = target.DeclaredObservation[*addonsv1alpha1.AddonRelease, addonsv1alpha1.AddonReleaseStatus, extra]
)

// extra is what is known of the Helm release, if the source is a chart.
type extra struct {
	helm.Observation
	// stages of the chart; nil where nothing is done.
	stages *helm.Stages
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options target.Options) error {
	r.caches = newCaches()
	return r.declared().SetupWithManager(mgr, options)
}

func (r *Reconciler) declared() *declaredReleases {
	return &declaredReleases{
		DeclaredKind: r, Staged: r, Room: r.Room, Rules: r.Rules, Installation: r.Installation, Clock: r.Clock, WebhookPatience: r.WebhookPatience,
	}
}

// Name implements target.DeclaredKind.
func (r *Reconciler) Name() string { return "AddonRelease" }

// New implements target.DeclaredKind.
func (r *Reconciler) New() *addonsv1alpha1.AddonRelease { return &addonsv1alpha1.AddonRelease{} }

// NewList implements target.DeclaredKind.
func (r *Reconciler) NewList() client.ObjectList { return &addonsv1alpha1.AddonReleaseList{} }

// Status implements target.DeclaredKind.
func (r *Reconciler) Status(release *addonsv1alpha1.AddonRelease) *addonsv1alpha1.AddonReleaseStatus {
	return &release.Status
}

// CopyStatus implements target.DeclaredKind.
func (r *Reconciler) CopyStatus(to, from *addonsv1alpha1.AddonReleaseStatus) { *to = *from.DeepCopy() }

// Parts implements target.DeclaredKind.
func (r *Reconciler) Parts(status *addonsv1alpha1.AddonReleaseStatus) target.Status {
	return target.Status{TargetStatus: &status.TargetStatus, ObjectsStatus: &status.ObjectsStatus}
}

// Drift implements target.DeclaredKind.
func (r *Reconciler) Drift(release *addonsv1alpha1.AddonRelease) metav1alpha1.DriftPolicy {
	return release.Spec.Drift
}
