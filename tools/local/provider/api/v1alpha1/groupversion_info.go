// Package v1alpha1 holds the kinds of infrastructure.local.daytwo.dev: what Cluster API orders clusters
// of the local fleet with. They keep Cluster API's contract v1beta2 for infrastructure, control plane and
// bootstrap providers; what a field means to Cluster API is said there.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.local.daytwo.dev
package v1alpha1

//go:generate go tool -modfile=../../../../generate/go.mod controller-gen object paths=. crd paths=. output:crd:dir=../../../localfleet/clusterapi/crds

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "infrastructure.local.daytwo.dev", Version: "v1alpha1"}

var schemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&LocalCluster{}, &LocalClusterList{},
		&LocalClusterTemplate{}, &LocalClusterTemplateList{},
		&LocalControlPlane{}, &LocalControlPlaneList{},
		&LocalControlPlaneTemplate{}, &LocalControlPlaneTemplateList{},
		&LocalMachine{}, &LocalMachineList{},
		&LocalMachineTemplate{}, &LocalMachineTemplateList{},
		&LocalBootstrapConfig{}, &LocalBootstrapConfigList{},
		&LocalBootstrapConfigTemplate{}, &LocalBootstrapConfigTemplateList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
})

// AddToScheme registers the kinds of this package.
var AddToScheme = schemeBuilder.AddToScheme
