package certificatebundle

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/targetstate"
)

// reasons of a CertificateDelivery that is not Ready.
var reasons = targetstate.Reasons{
	Progressing: []string{metav1alpha1.ReasonWaiting},
	Unusable:    []string{metav1alpha1.ReasonKindUnavailable, certificatesv1alpha1.ReasonNamespacesUnavailable, certificatesv1alpha1.ReasonRequestsUnavailable},
}

// NewPolicy implements policy.Kind.
func (r *Reconciler) NewPolicy() *certificatesv1alpha1.CertificateBundle {
	return &certificatesv1alpha1.CertificateBundle{}
}

// NewTarget implements policy.Kind.
func (r *Reconciler) NewTarget() *certificatesv1alpha1.CertificateDelivery {
	return &certificatesv1alpha1.CertificateDelivery{}
}

// CopyStatus implements policy.Kind.
func (r *Reconciler) CopyStatus(to, from *certificatesv1alpha1.CertificateBundle) {
	to.Status = *from.Status.DeepCopy()
}

// CopySpec implements policy.Kind.
func (r *Reconciler) CopySpec(to, from *certificatesv1alpha1.CertificateDelivery) {
	to.Spec = *from.Spec.DeepCopy()
}

// SyncSettings implements policy.Kind.
func (r *Reconciler) SyncSettings(delivery *certificatesv1alpha1.CertificateDelivery, bundle *certificatesv1alpha1.CertificateBundle) {
	drift := bundle.Spec.Drift.WithDefaults()
	delivery.Spec.Drift = *drift.DeepCopy()
	delivery.Spec.SignerName = signerOf(bundle)
	delivery.Spec.Probe = bundle.Spec.Probe.DeepCopy()
	if told, changes := r.authorityOf(delivery, bundle); changes {
		delivery.Spec.Authority = told
	}
}

// authorityOf is what a delivery is to be told of the bundle's own authorities, and whether that is something else than it was told.
func (r *Reconciler) authorityOf(delivery *certificatesv1alpha1.CertificateDelivery, bundle *certificatesv1alpha1.CertificateBundle) (*certificatesv1alpha1.DeliveredAuthority, bool) {
	decided := r.decisions.of(client.ObjectKeyFromObject(bundle))
	if bundle.Spec.CA == nil || decided == nil {
		return nil, false
	}
	told, known := decided.in(rollout.ClusterKey(delivery.Spec.ClusterRef))
	if had := delivery.Spec.Authority; !known || had != nil && had.AnchorHash == told.AnchorHash && had.PolicyUID == string(decided.uid) {
		return nil, false
	}
	delivered := decided.delivered(told)
	return delivered, delivered != nil
}

// SettingsCurrent implements policy.Kind.
func (r *Reconciler) SettingsCurrent(delivery *certificatesv1alpha1.CertificateDelivery, bundle *certificatesv1alpha1.CertificateBundle) bool {
	_, changes := r.authorityOf(delivery, bundle)
	return !changes && delivery.Spec.SignerName == signerOf(bundle) && equality.Semantic.DeepEqual(delivery.Spec.Drift, bundle.Spec.Drift.WithDefaults()) &&
		equality.Semantic.DeepEqual(delivery.Spec.Probe, bundle.Spec.Probe)
}

// Gates implements policy.GatedKind.
func (r *Reconciler) Gates(bundle *certificatesv1alpha1.CertificateBundle, _ time.Time) []rollout.Gate {
	if decided := r.decisions.of(client.ObjectKeyFromObject(bundle)); decided != nil {
		return decided.plan.Gates
	}
	return nil
}

// State implements policy.Kind.
func (r *Reconciler) State(delivery *certificatesv1alpha1.CertificateDelivery) (rollout.State, string) {
	return reasons.State(delivery)
}

// Objects implements policy.Kind.
func (r *Reconciler) Objects(delivery *certificatesv1alpha1.CertificateDelivery) []string {
	return delivery.Status.ObjectIDs()
}

// Forget implements policy.Kind.
func (r *Reconciler) Forget(key types.NamespacedName) {
	r.anchors.forget(key)
	r.decisions.forget(key)
	if r.issuing != nil {
		r.issuing.Forget(key)
	}
}

// Withdrawal says what the guard would make of the clusters that a bundle loses if it is as given.
func Withdrawal(
	ctx context.Context, cached client.Client, bundle *certificatesv1alpha1.CertificateBundle, providerNamespace string, now time.Time,
) (rollout.Withdrawal, error) {
	return policy.Withdrawal(ctx, cached, &Reconciler{}, bundle, providerNamespace, now)
}
