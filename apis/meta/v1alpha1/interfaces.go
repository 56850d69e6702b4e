package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Policy is an object of a kind of policy: what a person writes for many clusters.
//
// +kubebuilder:object:generate=false
type Policy interface {
	metav1.Object
	runtime.Object
	// GetPolicySpec returns what every policy's spec has.
	GetPolicySpec() *PolicySpec
	// GetPolicyStatus returns what every policy's status has.
	GetPolicyStatus() *PolicyStatus
}

// Target is an object of a kind of target: one policy in one cluster.
//
// +kubebuilder:object:generate=false
type Target interface {
	metav1.Object
	runtime.Object
	// GetTargetSpec returns what every target's spec has.
	GetTargetSpec() *TargetSpec
	// GetTargetStatus returns what every target's status has.
	GetTargetStatus() *TargetStatus
}

// Run is an object of a kind of run: something that is done once, in one cluster or several, and then ends.
//
// +kubebuilder:object:generate=false
type Run interface {
	metav1.Object
	runtime.Object
	// GetRunSpec returns what every run's spec has.
	GetRunSpec() *RunSpec
	// GetRunStatus returns what every run's status has.
	GetRunStatus() *RunStatus
}
