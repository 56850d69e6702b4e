package v1alpha1

import metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"

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
