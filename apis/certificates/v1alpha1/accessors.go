package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// GetPolicySpec returns what every policy's spec has.
func (b *CertificateBundle) GetPolicySpec() *metav1alpha1.PolicySpec { return &b.Spec.PolicySpec }

// GetPolicyStatus returns what every policy's status has.
func (b *CertificateBundle) GetPolicyStatus() *metav1alpha1.PolicyStatus {
	return &b.Status.PolicyStatus
}

// GetTargetSpec returns what every target's spec has.
func (d *CertificateDelivery) GetTargetSpec() *metav1alpha1.TargetSpec { return &d.Spec.TargetSpec }

// GetTargetStatus returns what every target's status has.
func (d *CertificateDelivery) GetTargetStatus() *metav1alpha1.TargetStatus {
	return &d.Status.TargetStatus
}

// IsReloadComplete is whether its status says, of the delivery as it is now, that everything that is asked for has loaded what
// was delivered. It is false where nothing is asked for.
func (d *CertificateDelivery) IsReloadComplete() bool {
	condition := meta.FindStatusCondition(d.Status.Conditions, ConditionReloadComplete)
	return condition != nil && condition.Status == metav1.ConditionTrue && condition.ObservedGeneration == d.Generation
}
