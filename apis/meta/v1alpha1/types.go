package v1alpha1

// LocalReference names an object of the same namespace.
type LocalReference struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// SecretKeyReference names one key of a Secret of the same namespace.
type SecretKeyReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key in the Secret's data.
	// +optional
	// +default="value"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// ClusterReference names a TenantCluster.
type ClusterReference struct {
	// namespace of the TenantCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the TenantCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// Tally counts clusters and names the first ten of them, in alphabetical order. It never grows
// with the fleet.
type Tally struct {
	// count of clusters.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`

	// names of the first ten, as namespace/name where the namespace is not the policy's own.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=317
	Names []string `json:"names,omitempty"`
}
