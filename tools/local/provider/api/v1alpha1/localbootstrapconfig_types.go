package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LocalBootstrapConfigSpec is empty: a node that KWOK plays needs no bootstrap.
type LocalBootstrapConfigSpec struct{}

// LocalBootstrapConfigStatus names the data that the contract asks for.
type LocalBootstrapConfigStatus struct {
	// initialization tells whether the Secret is there.
	// +optional
	Initialization BootstrapInitialization `json:"initialization,omitempty,omitzero"`
	// dataSecretName is the Secret with the bootstrap data.
	// +optional
	DataSecretName string `json:"dataSecretName,omitempty"`
	// conditions: Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BootstrapInitialization tells whether the bootstrap data is there.
type BootstrapInitialization struct {
	// dataSecretCreated is true once it is.
	// +optional
	DataSecretCreated *bool `json:"dataSecretCreated,omitempty"`
}

// LocalBootstrapConfig does nothing but keep the contract: Cluster API waits for a Secret before it
// makes a machine.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
type LocalBootstrapConfig struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	Spec LocalBootstrapConfigSpec `json:"spec,omitempty"`
	// +optional
	Status LocalBootstrapConfigStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions.
func (c *LocalBootstrapConfig) GetConditions() *[]metav1.Condition { return &c.Status.Conditions }

// LocalBootstrapConfigList is a list of LocalBootstrapConfigs.
//
// +kubebuilder:object:root=true
type LocalBootstrapConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LocalBootstrapConfig `json:"items"`
}

// LocalBootstrapConfigTemplate is what LocalBootstrapConfigs are made from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
type LocalBootstrapConfigTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +required
	Spec LocalBootstrapConfigTemplateSpec `json:"spec"`
}

// LocalBootstrapConfigTemplateSpec holds the template.
type LocalBootstrapConfigTemplateSpec struct {
	// template is what is made.
	// +required
	Template LocalBootstrapConfigTemplateResource `json:"template"`
}

// LocalBootstrapConfigTemplateResource is a LocalBootstrapConfig to be.
type LocalBootstrapConfigTemplateResource struct {
	// metadata of the LocalBootstrapConfig.
	// +optional
	ObjectMeta TemplateMetadata `json:"metadata,omitempty,omitzero"`
	// spec of the LocalBootstrapConfig.
	// +optional
	Spec LocalBootstrapConfigSpec `json:"spec,omitempty"`
}

// LocalBootstrapConfigTemplateList is a list of LocalBootstrapConfigTemplates.
//
// +kubebuilder:object:root=true
type LocalBootstrapConfigTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LocalBootstrapConfigTemplate `json:"items"`
}
