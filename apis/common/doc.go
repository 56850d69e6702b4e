// Package common holds the field types, names and reasons that every API group of Daytwo shares.
//
// +kubebuilder:object:generate=true
package common
