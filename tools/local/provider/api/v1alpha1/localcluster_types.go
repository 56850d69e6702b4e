package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LocalClusterSpec says where a cluster is found.
type LocalClusterSpec struct {
	// controlPlaneEndpoint is the address of the API server. The provider sets it.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`
}

// APIEndpoint is the address of an API server.
type APIEndpoint struct {
	// host is always the loopback address.
	// +optional
	Host string `json:"host,omitempty"`
	// port is claimed for this cluster, and stays its own until it is deleted.
	// +optional
	Port int32 `json:"port,omitempty"`
}

// LocalClusterStatus tells about the cluster's infrastructure.
type LocalClusterStatus struct {
	// initialization tells what is provisioned.
	// +optional
	Initialization Provisioned `json:"initialization,omitempty,omitzero"`
	// conditions: Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// LocalCluster is the infrastructure of a cluster: a port, and keys.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="Port",type=integer,JSONPath=`.spec.controlPlaneEndpoint.port`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type LocalCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	Spec LocalClusterSpec `json:"spec,omitempty"`
	// +optional
	Status LocalClusterStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions.
func (c *LocalCluster) GetConditions() *[]metav1.Condition { return &c.Status.Conditions }

// LocalClusterList is a list of LocalClusters.
//
// +kubebuilder:object:root=true
type LocalClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LocalCluster `json:"items"`
}

// LocalClusterTemplate is what a ClusterClass makes LocalClusters from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
type LocalClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +required
	Spec LocalClusterTemplateSpec `json:"spec"`
}

// LocalClusterTemplateSpec holds the template.
type LocalClusterTemplateSpec struct {
	// template is what is made.
	// +required
	Template LocalClusterTemplateResource `json:"template"`
}

// LocalClusterTemplateResource is a LocalCluster to be.
type LocalClusterTemplateResource struct {
	// metadata of the LocalCluster.
	// +optional
	ObjectMeta TemplateMetadata `json:"metadata,omitempty,omitzero"`
	// spec of the LocalCluster.
	// +required
	Spec LocalClusterSpec `json:"spec"`
}

// LocalClusterTemplateList is a list of LocalClusterTemplates.
//
// +kubebuilder:object:root=true
type LocalClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LocalClusterTemplate `json:"items"`
}
