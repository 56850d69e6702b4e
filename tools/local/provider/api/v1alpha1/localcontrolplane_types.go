package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LocalControlPlaneSpec says what runs.
type LocalControlPlaneSpec struct {
	// version of Kubernetes, such as "v1.36.3". Only versions that the fleet has a build of can run.
	// +optional
	Version string `json:"version,omitempty"`
	// replicas is the number of members. One process plays them all.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
	// apiServerArgs are further flags of kube-apiserver. Another value restarts it.
	// +optional
	// +listType=atomic
	APIServerArgs []string `json:"apiServerArgs,omitempty"`
}

// LocalControlPlaneStatus tells what runs.
type LocalControlPlaneStatus struct {
	// initialization tells whether the API server has ever answered.
	// +optional
	Initialization ControlPlaneInitialization `json:"initialization,omitempty,omitzero"`
	// externalManagedControlPlane is true: the control plane shows up as no node.
	// +optional
	ExternalManagedControlPlane *bool `json:"externalManagedControlPlane,omitempty"`
	// version that runs.
	// +optional
	Version string `json:"version,omitempty"`
	// replicas is the number of members.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// readyReplicas is the number of members that answer.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`
	// availableReplicas is the number of members that answer.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`
	// upToDateReplicas is the number of members that run what the spec says.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`
	// conditions: Available, RollingOut.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ControlPlaneInitialization tells whether the API server has ever answered.
type ControlPlaneInitialization struct {
	// controlPlaneInitialized is true once it did.
	// +optional
	ControlPlaneInitialized *bool `json:"controlPlaneInitialized,omitempty"`
}

// LocalControlPlane is a kube-apiserver of the local fleet, with a kube-controller-manager, a
// kube-scheduler and KWOK.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
type LocalControlPlane struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	Spec LocalControlPlaneSpec `json:"spec,omitempty"`
	// +optional
	Status LocalControlPlaneStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions.
func (c *LocalControlPlane) GetConditions() *[]metav1.Condition { return &c.Status.Conditions }

// LocalControlPlaneList is a list of LocalControlPlanes.
//
// +kubebuilder:object:root=true
type LocalControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LocalControlPlane `json:"items"`
}

// LocalControlPlaneTemplate is what a ClusterClass makes LocalControlPlanes from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
type LocalControlPlaneTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +required
	Spec LocalControlPlaneTemplateSpec `json:"spec"`
}

// LocalControlPlaneTemplateSpec holds the template.
type LocalControlPlaneTemplateSpec struct {
	// template is what is made.
	// +required
	Template LocalControlPlaneTemplateResource `json:"template"`
}

// LocalControlPlaneTemplateResource is a LocalControlPlane to be.
type LocalControlPlaneTemplateResource struct {
	// metadata of the LocalControlPlane.
	// +optional
	ObjectMeta TemplateMetadata `json:"metadata,omitempty,omitzero"`
	// spec of the LocalControlPlane. Cluster API adds version and replicas.
	// +required
	Spec LocalControlPlaneSpec `json:"spec"`
}

// LocalControlPlaneTemplateList is a list of LocalControlPlaneTemplates.
//
// +kubebuilder:object:root=true
type LocalControlPlaneTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LocalControlPlaneTemplate `json:"items"`
}
