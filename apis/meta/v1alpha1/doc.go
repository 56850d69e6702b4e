// Package v1alpha1 holds the field types, names and reasons that every API group of Daytwo shares.
//
// +kubebuilder:object:generate=true
package v1alpha1
