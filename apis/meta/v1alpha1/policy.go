package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PolicySpec is what every policy has: which clusters it is for, and how it reaches and leaves them.
//
// +kubebuilder:validation:XValidation:rule="has(self.clusterSelector) || has(self.clusterNames)",message="set clusterSelector, clusterNames, or both; an empty clusterSelector {} selects every cluster"
type PolicySpec struct {
	// clusterSelector selects TenantClusters by label, in the policy's own namespace.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// clusterNames selects TenantClusters by name, beside those that clusterSelector selects.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	ClusterNames []string `json:"clusterNames,omitempty"`

	// clusterNamespaceSelector widens the selection to the namespaces with these labels. Only in
	// the provider's namespace, and then both selectors may use labels under
	// provider.daytwo.dev/ only.
	// +optional
	ClusterNamespaceSelector *metav1.LabelSelector `json:"clusterNamespaceSelector,omitempty"`

	// rollout says how fast a new revision reaches the clusters.
	// +optional
	// +default={}
	Rollout RolloutPolicy `json:"rollout,omitzero"`

	// deletionPolicy says what becomes of the objects in a cluster when the policy, or the
	// cluster's selection, ends: Delete removes them, Orphan leaves them. The default is Delete.
	// +optional
	// +default="Delete"
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// withdrawalGuard says how many clusters the policy may lose within an hour before a person has to
	// confirm it.
	// +optional
	// +default={}
	WithdrawalGuard WithdrawalGuard `json:"withdrawalGuard,omitempty,omitzero"`

	// suspend stops rollouts and corrections; drift is still reported. Deleting still cleans up.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// DeletionPolicy is Delete or Orphan.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

// Deletion policies.
const (
	DeletionPolicyDelete DeletionPolicy = "Delete"
	DeletionPolicyOrphan DeletionPolicy = "Orphan"
)

// RolloutPolicy says how fast a new revision reaches the clusters.
type RolloutPolicy struct {
	// maxConcurrent is how many clusters may be on their way to a revision at the same time. A
	// cluster is on its way until its target is Ready, so as many that fail hold the rollout, apart
	// from maxFailures. The default is 10.
	// +optional
	// +default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxConcurrent int32 `json:"maxConcurrent,omitempty"`

	// progressDeadline is how long a target may take to become Ready after it was written, 1m to 24h; 10m by default. One that takes longer
	// counts as failed, and keeps its slot.
	// +optional
	// +default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="use 1m to 24h"
	ProgressDeadline metav1.Duration `json:"progressDeadline,omitzero"` //nolint:kubeapilinter // A struct: omitzero is what omits it.

	// maxFailures is how many slots of failed targets are handed out again at most, once clusters of two other customers are
	// Ready at the same revision; maxConcurrent by default. It has an effect together with clusterNamespaceSelector only.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MaxFailures *int32 `json:"maxFailures,omitempty"`

	// disruptive says that a new revision disturbs what runs in a cluster: it waits for one of the
	// cluster's maintenance windows, if it has any. The first revision in a cluster does not.
	// +optional
	Disruptive bool `json:"disruptive,omitempty"`
}

// PolicyStatus is what every policy tells: a summary of its targets that does not grow with the fleet.
type PolicyStatus struct {
	// conditions are Ready, Reconciling, Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// revision is the name of the current revision.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// clusters sums up the selected clusters.
	// +optional
	Clusters ClusterSummary `json:"clusters"`

	// withdrawals is what spec.withdrawalGuard counts.
	// +optional
	Withdrawals WithdrawalRecord `json:"withdrawals,omitzero"`

	// abandoned are the last ten targets that were removed while their cluster could not be reached,
	// with what was left behind: with the annotation daytwo.dev/abandon, or because the deletion of
	// the TenantCluster was due.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Abandoned []AbandonedTarget `json:"abandoned,omitempty"`
}

// ClusterSummary counts the clusters of a policy.
type ClusterSummary struct {
	// selected by the policy.
	// +required
	Selected ClusterCount `json:"selected"`

	// ready are those whose target is Ready at the current revision.
	// +required
	Ready ClusterCount `json:"ready"`

	// updated are those where the current revision was applied.
	// +required
	Updated ClusterCount `json:"updated"`

	// failed are those whose target is not Ready, and no longer just on its way.
	// +required
	Failed ClusterCount `json:"failed"`

	// unreachable are those that do not answer.
	// +required
	Unreachable ClusterCount `json:"unreachable"`

	// unusable are those of which nothing is known for another reason: their credentials are refused, there is no kubeconfig,
	// it leads to the wrong cluster, or a kind cannot be read there.
	// +optional
	Unusable ClusterCount `json:"unusable,omitzero"`
}

// ClusterCount counts clusters and names the first ten of them, in alphabetical order. It never grows
// with the fleet.
type ClusterCount struct {
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

// AbandonedTarget is a target that was removed while its cluster could not be reached.
type AbandonedTarget struct {
	// cluster that was left.
	// +required
	Cluster ClusterReference `json:"cluster,omitzero"`

	// objects that may still be there: how many, and the first ten.
	// +required
	Objects ObjectCount `json:"objects,omitzero"`

	// time when it was removed.
	// +required
	Time metav1.Time `json:"time,omitzero"`
}

// ObjectCount counts objects in a workload cluster and names the first ten of them, in alphabetical order.
type ObjectCount struct {
	// count of objects.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`

	// names of the first ten, as apiVersion/Kind/namespace/name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=317
	Names []string `json:"names,omitempty"`
}
