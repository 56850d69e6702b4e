package v1alpha1

import metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"

// GetPolicySpec returns what every policy's spec has.
func (a *SaaSAddon) GetPolicySpec() *metav1alpha1.PolicySpec { return &a.Spec.PolicySpec }

// GetPolicyStatus returns what every policy's status has.
func (a *SaaSAddon) GetPolicyStatus() *metav1alpha1.PolicyStatus { return &a.Status.PolicyStatus }

// GetTargetSpec returns what every target's spec has.
func (r *AddonRelease) GetTargetSpec() *metav1alpha1.TargetSpec { return &r.Spec.TargetSpec }

// GetTargetStatus returns what every target's status has.
func (r *AddonRelease) GetTargetStatus() *metav1alpha1.TargetStatus { return &r.Status.TargetStatus }
