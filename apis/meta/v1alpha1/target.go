package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TargetSpec is what every target has: its cluster, and what its policy wants there.
type TargetSpec struct {
	// clusterRef names the TenantCluster.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterRef is immutable"
	ClusterRef ClusterReference `json:"clusterRef,omitzero"`

	// revision names the revision to apply.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// content names the immutable Secret in this namespace with what only this cluster gets beside the revision, such as a
	// certificate that was issued for it; empty for nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Content string `json:"content,omitempty"`

	// cluster is what the templates may know of the cluster, beside its name and namespace.
	// +optional
	Cluster ClusterParameters `json:"cluster,omitzero"`

	// writtenAt is when the policy wrote this spec last. The progressDeadline of its rollout counts from then.
	// +optional
	WrittenAt metav1.Time `json:"writtenAt,omitzero"`

	// deletionPolicy is the policy's. The default is Delete.
	// +optional
	// +default="Delete"
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// suspend is the policy's.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// requestedAt is the policy's annotation daytwo.dev/requested-at.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	RequestedAt string `json:"requestedAt,omitempty"`
}

// ClusterParameters are what templates may know of a cluster. None of it is secret.
type ClusterParameters struct {
	// labels of the TenantCluster, without Daytwo's own.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// version is the cluster's Kubernetes minor version, as in "1.36".
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Version string `json:"version,omitempty"`
}

// TargetStatus is what every target tells.
type TargetStatus struct {
	// conditions are Ready, Reconciling, Stalled, and those of the target's kind.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// revision that was applied last, completely.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// clusterID is the identity of the cluster that this status speaks of.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ClusterID string `json:"clusterID,omitempty"`

	// handledRequest tells which requests for a try now were acted on last: the annotations
	// daytwo.dev/requested-at of the policy, the target and the TenantCluster.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	HandledRequest string `json:"handledRequest,omitempty"`

	// acknowledged is what was read back from the cluster last, after it was written there. Kinds on which others rely
	// tell it, such as one that delivers keys; other kinds leave it out.
	// +optional
	Acknowledged *Acknowledgement `json:"acknowledged,omitempty"`
}

// Acknowledgement is what was read back from a cluster, and not only sent there.
type Acknowledgement struct {
	// generation of the target whose objects were all read back as declared.
	// +required
	// +kubebuilder:validation:Minimum=1
	Generation int64 `json:"generation,omitempty"`

	// hash of these objects as declared, so that one content can be told from another.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash,omitempty"`
}
