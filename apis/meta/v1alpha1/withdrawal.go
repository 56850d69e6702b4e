package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Defaults of WithdrawalGuard, also for objects that say nothing of it.
const (
	DefaultWithdrawalMaxClusters int32 = 3
	DefaultWithdrawalMaxPercent  int32 = 20
)

// WithdrawalGuard bounds how many clusters a policy loses within an hour, because they are not
// selected any more or because their TenantClusters are deleted. Beyond the larger of both bounds
// none is lost until a person confirms the number with the annotation
// daytwo.dev/confirm-withdrawal. Deleting the policy itself is not guarded.
type WithdrawalGuard struct {
	// maxClusters may be lost within an hour, however few there are. A policy that has no more
	// clusters than that is not guarded. The default is 3.
	// +optional
	// +default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxClusters int32 `json:"maxClusters,omitempty"`

	// maxPercent of the most clusters that the policy had within that hour, rounded down. 0 leaves
	// maxClusters alone to count, 100 is no guard. The default is 20.
	// +optional
	// +default=20
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxPercent *int32 `json:"maxPercent,omitempty"`
}

// WithdrawalRecord is what a policy has to remember for its withdrawal guard. It is written when
// clusters are lost, and does not grow with the fleet.
type WithdrawalRecord struct {
	WithdrawalCounts `json:",inline"`

	// namespaces are, in a policy with clusterNamespaceSelector, the clusters that were lost because their TenantClusters were
	// deleted: each namespace counts for itself.
	// +optional
	// +listType=map
	// +listMapKey=namespace
	// +kubebuilder:validation:MaxItems=256
	Namespaces []NamespaceWithdrawals `json:"namespaces,omitempty"`
}

// NamespaceWithdrawals are those of one namespace.
type NamespaceWithdrawals struct {
	// namespace of the TenantClusters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	WithdrawalCounts `json:",inline"`
}

// WithdrawalCounts is what a guard counts.
type WithdrawalCounts struct {
	// recent are the clusters that were lost without confirmation, for each minute in which some
	// were, or each ten minutes in a namespace, oldest first. What is older than an hour does not count, and goes with the next change
	// of the status.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=61
	Recent []WithdrawalMinute `json:"recent,omitempty"`

	// underway are withdrawals that were allowed and may not have happened yet. Absent once they have.
	// +optional
	Underway *WithdrawalsUnderway `json:"underway,omitempty"`

	// spentConfirmation is the value of the annotation daytwo.dev/confirm-withdrawal that confirms
	// nothing any more: it did already, or it was there before what is to be confirmed.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	SpentConfirmation string `json:"spentConfirmation,omitempty"`
}

// WithdrawalMinute counts the clusters that were lost within one minute, or ten minutes in a namespace.
type WithdrawalMinute struct {
	// minute begins then.
	// +required
	Minute metav1.Time `json:"minute,omitzero"`

	// count of the clusters that were lost.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`

	// clusters is the most that the policy had before one of them was lost. Those that were lost
	// with confirmation since do not count.
	// +required
	// +kubebuilder:validation:Minimum=0
	Clusters int32 `json:"clusters"`
}

// WithdrawalsUnderway are withdrawals of which those that happened are yet to be counted: by the number
// of clusters that are left, so that a manager which dies meanwhile counts each once.
type WithdrawalsUnderway struct {
	// count of the withdrawals.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`

	// confirmed is how many of them somebody confirmed.
	// +required
	// +kubebuilder:validation:Minimum=0
	Confirmed int32 `json:"confirmed"`

	// clusters is how many the policy had before the first of them.
	// +required
	// +kubebuilder:validation:Minimum=0
	Clusters int32 `json:"clusters"`
}
