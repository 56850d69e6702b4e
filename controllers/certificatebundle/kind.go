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
)

// reasons of a CertificateDelivery that is not Ready.
var reasons = policy.Reasons{
	Progressing: []string{metav1alpha1.ReasonWaiting},
	Unreachable: []string{metav1alpha1.ReasonKindUnavailable, certificatesv1alpha1.ReasonNamespacesUnavailable},
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
}

// SettingsCurrent implements policy.Kind.
func (r *Reconciler) SettingsCurrent(delivery *certificatesv1alpha1.CertificateDelivery, bundle *certificatesv1alpha1.CertificateBundle) bool {
	return equality.Semantic.DeepEqual(delivery.Spec.Drift, bundle.Spec.Drift.WithDefaults())
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
