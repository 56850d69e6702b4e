package v1alpha1

import metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"

// GetPolicySpec returns what every policy's spec has.
func (p *BackupPolicy) GetPolicySpec() *metav1alpha1.PolicySpec { return &p.Spec.PolicySpec }

// GetPolicyStatus returns what every policy's status has.
func (p *BackupPolicy) GetPolicyStatus() *metav1alpha1.PolicyStatus { return &p.Status.PolicyStatus }

// GetTargetSpec returns what every target's spec has.
func (e *BackupEnrollment) GetTargetSpec() *metav1alpha1.TargetSpec { return &e.Spec.TargetSpec }

// GetTargetStatus returns what every target's status has.
func (e *BackupEnrollment) GetTargetStatus() *metav1alpha1.TargetStatus {
	return &e.Status.TargetStatus
}

// GetRunSpec returns what every run's spec has.
func (d *DRDrill) GetRunSpec() *metav1alpha1.RunSpec { return &d.Spec.RunSpec }

// GetRunStatus returns what every run's status has.
func (d *DRDrill) GetRunStatus() *metav1alpha1.RunStatus { return &d.Status.RunStatus }
