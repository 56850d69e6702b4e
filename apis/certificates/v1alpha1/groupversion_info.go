// Package v1alpha1 holds the kinds of certificates.daytwo.dev: which certificates and which authorities are in workload
// clusters.
//
// +kubebuilder:object:generate=true
// +groupName=certificates.daytwo.dev
package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "certificates.daytwo.dev", Version: "v1alpha1"}

var schemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &CertificateBundle{}, &CertificateBundleList{}, &CertificateDelivery{}, &CertificateDeliveryList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
})

// AddToScheme registers the kinds of this package.
var AddToScheme = schemeBuilder.AddToScheme
