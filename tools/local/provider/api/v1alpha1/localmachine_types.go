package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LocalMachineSpec says what node a machine is.
type LocalMachineSpec struct {
	// providerID is "local://<cluster>/<machine>", as on the node. The provider sets it.
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// podCapacity is how many pods the node takes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=110
	PodCapacity int32 `json:"podCapacity,omitempty"`
	// nodeLabels are set on the node when it joins.
	// +optional
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
}

// LocalMachineStatus tells about the node.
type LocalMachineStatus struct {
	// initialization tells whether the node has joined.
	// +optional
	Initialization Provisioned `json:"initialization,omitempty,omitzero"`
	// conditions: Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// LocalMachine is a node that KWOK plays.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="ProviderID",type=string,JSONPath=`.spec.providerID`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type LocalMachine struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	Spec LocalMachineSpec `json:"spec,omitempty"`
	// +optional
	Status LocalMachineStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions.
func (m *LocalMachine) GetConditions() *[]metav1.Condition { return &m.Status.Conditions }

// LocalMachineList is a list of LocalMachines.
//
// +kubebuilder:object:root=true
type LocalMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LocalMachine `json:"items"`
}

// LocalMachineTemplate is what LocalMachines are made from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
type LocalMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +required
	Spec LocalMachineTemplateSpec `json:"spec"`
}

// LocalMachineTemplateSpec holds the template.
type LocalMachineTemplateSpec struct {
	// template is what is made.
	// +required
	Template LocalMachineTemplateResource `json:"template"`
}

// LocalMachineTemplateResource is a LocalMachine to be.
type LocalMachineTemplateResource struct {
	// metadata of the LocalMachine.
	// +optional
	ObjectMeta TemplateMetadata `json:"metadata,omitempty,omitzero"`
	// spec of the LocalMachine.
	// +required
	Spec LocalMachineSpec `json:"spec"`
}

// LocalMachineTemplateList is a list of LocalMachineTemplates.
//
// +kubebuilder:object:root=true
type LocalMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LocalMachineTemplate `json:"items"`
}
