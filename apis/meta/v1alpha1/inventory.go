package v1alpha1

// InventoryEntry is one object in the workload cluster. Written before the object is applied,
// completed afterwards.
type InventoryEntry struct {
	// id is apiVersion/Kind/namespace/name, as in "apps/v1/Deployment/cache/web".
	// +required
	// +kubebuilder:validation:MaxLength=1024
	ID string `json:"id,omitempty"`

	// uid of the object.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// hash of its desired content.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash,omitempty"`

	// fp is the fingerprint of who owns what of it, from the answer to the last apply.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Fingerprint string `json:"fp,omitempty"`

	// adopted tells that it was there before Daytwo applied it first.
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// kept tells that it stays in the cluster when it leaves the source or the target ends: a chart's
	// CustomResourceDefinitions, PersistentVolumeClaims, and what is marked helm.sh/resource-policy: keep.
	// +optional
	Kept bool `json:"kept,omitempty"`

	// external tells that it stands for something outside of the cluster, such as a volume, a load
	// balancer or what an operator makes: it is removed before the cluster is.
	// +optional
	External bool `json:"external,omitempty"`

	// environment tells that a pod template takes every key of it, a Secret or ConfigMap, as an environment
	// variable.
	// +optional
	Environment bool `json:"environment,omitempty"`

	// relinquished are declared fields, as JSON pointers, that others set and may: an autoscaler's
	// replicas, and what drift.ignore or the catalog of exceptions names. They are left out of what is applied.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=33
	// +kubebuilder:validation:items:MaxLength=512
	Relinquished []string `json:"relinquished,omitempty"`
}
