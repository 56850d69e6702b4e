package certificatedelivery

import (
	"errors"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatedelivery/probe"
	"github.com/daytwo-dev/daytwo/controllers/certificatedelivery/relay"
	"github.com/daytwo-dev/daytwo/controllers/certificatedelivery/reload"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/internal/netguard"
)

// The verb manage tells the manager from everybody else: see config/admission/manager_only.yaml.
// +kubebuilder:rbac:groups=certificates.daytwo.dev,resources=certificatedeliveries,verbs=get;list;watch;patch;manage
// +kubebuilder:rbac:groups=certificates.daytwo.dev,resources=certificatedeliveries/status,verbs=get;patch
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps CertificateDeliveries as their bundles declare them. It is their target.DeclaredKind and target.StagedKind.
type Reconciler struct {
	// A delivery has nothing in its cluster but its objects, which the inventory lists.
	notStaged

	// Room of the deliveries.
	Room *Room
	// Rules that say which changes are drift.
	Rules managedfields.Rules
	// Installation is the value of the label daytwo.dev/managed-by.
	Installation string
	Clock        clock.PassiveClock

	relay *relay.Reconciler
	// Guard permits the addresses that servers may have which are probed.
	Guard netguard.Guard

	revisions revision.Cache[certificatecontent.Content]
	reads     sharedReads
	reloads   *background.Tasks[reload.Result]
	probes    *background.Tasks[probe.Served]
}

// Room is the life of CertificateDeliveries.
type Room = target.Reconciler[*certificatesv1alpha1.CertificateDelivery, certificatesv1alpha1.CertificateDeliveryStatus, struct{}]

type (
	notStaged          = target.NotStaged[*certificatesv1alpha1.CertificateDelivery, certificatesv1alpha1.CertificateDeliveryStatus, extra]
	declaredDeliveries = target.Declared[*certificatesv1alpha1.CertificateDelivery, certificatesv1alpha1.CertificateDeliveryStatus, extra]
	observation        = target.DeclaredObservation[*certificatesv1alpha1.CertificateDelivery, certificatesv1alpha1.CertificateDeliveryStatus, extra]
	outcome            = target.Outcome[certificatesv1alpha1.CertificateDeliveryStatus]
)

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options target.Options) error {
	r.Room.Secrets = func(delivery *certificatesv1alpha1.CertificateDelivery) []string {
		if delivery.Spec.Content == "" {
			return nil
		}
		return []string{delivery.Spec.Content}
	}
	r.revisions = revision.NewCache[certificatecontent.Content](maxRevisions, revisionLifetime)
	r.reloads, r.probes = newReloads(r.Clock), newProbes()
	unwatched := error(nil)
	r.Room.AddWatches = func(b *builder.Builder) {
		unwatched = errors.Join(r.reloads.AddTo(mgr, b), r.probes.AddTo(mgr, b))
	}
	if err := r.setUpRelay(mgr, options); err != nil {
		return err
	}
	declared := &declaredDeliveries{DeclaredKind: r, Staged: r, Room: r.Room, Rules: r.Rules, Installation: r.Installation, Clock: r.Clock}
	err := declared.SetupWithManager(mgr, options)
	return errors.Join(err, unwatched)
}

// TargetKind is the kind CertificateDelivery, for the registry of target kinds.
func TargetKind() *targets.Kind {
	return targets.Pair[*certificatesv1alpha1.CertificateDelivery]{
		Target: &certificatesv1alpha1.CertificateDelivery{}, Targets: &certificatesv1alpha1.CertificateDeliveryList{},
		Policy: &certificatesv1alpha1.CertificateBundle{}, Policies: &certificatesv1alpha1.CertificateBundleList{},
	}.Kind(certificatesv1alpha1.GroupVersion, func(delivery *certificatesv1alpha1.CertificateDelivery) targets.Holdings {
		return targets.Holdings{Objects: delivery.Status.Inventory}
	})
}

// Name implements target.DeclaredKind.
func (r *Reconciler) Name() string { return "CertificateDelivery" }

// New implements target.DeclaredKind.
func (r *Reconciler) New() *certificatesv1alpha1.CertificateDelivery {
	return &certificatesv1alpha1.CertificateDelivery{}
}

// NewList implements target.DeclaredKind.
func (r *Reconciler) NewList() client.ObjectList {
	return &certificatesv1alpha1.CertificateDeliveryList{}
}

// Status implements target.DeclaredKind.
func (r *Reconciler) Status(delivery *certificatesv1alpha1.CertificateDelivery) *certificatesv1alpha1.CertificateDeliveryStatus {
	return &delivery.Status
}

// CopyStatus implements target.DeclaredKind.
func (r *Reconciler) CopyStatus(to, from *certificatesv1alpha1.CertificateDeliveryStatus) {
	*to = *from.DeepCopy()
}

// Parts implements target.DeclaredKind.
func (r *Reconciler) Parts(status *certificatesv1alpha1.CertificateDeliveryStatus) target.Status {
	return target.Status{TargetStatus: &status.TargetStatus, ObjectsStatus: &status.ObjectsStatus}
}

// DropSteps implements target.FollowingKind.
func (r *Reconciler) DropSteps(status *certificatesv1alpha1.CertificateDeliveryStatus) {
	status.Requests = nil
}

// Drift implements target.DeclaredKind.
func (r *Reconciler) Drift(delivery *certificatesv1alpha1.CertificateDelivery) metav1alpha1.DriftPolicy {
	return delivery.Spec.Drift
}

// Acknowledges implements target.AcknowledgingKind.
func (r *Reconciler) Acknowledges() bool { return true }
