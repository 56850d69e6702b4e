package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Action is the record of one action: an object that Daytwo makes once in a workload cluster, such as a backup or a
// restore, and whose end it waits for. The record is stored before the object is made.
type Action struct {
	// name tells the actions of one object from one another, as in "restore".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// clusterRef names the TenantCluster in which the object is made.
	// +required
	ClusterRef ClusterReference `json:"clusterRef,omitzero"`

	// clusterID is the identity of that cluster. The action goes on in no other.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ClusterID string `json:"clusterID,omitempty"`

	// object is its apiVersion/Kind/namespace/name, as in "velero.io/v1/Restore/velero/weekly-restore-1f2e3d4c".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Object string `json:"object,omitempty"`

	// uid of the object; absent until it is known to be there.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// startedAt is when the action was recorded.
	// +required
	StartedAt metav1.Time `json:"startedAt,omitzero"`

	// deadline is when the action has failed if it has not ended.
	// +required
	Deadline metav1.Time `json:"deadline,omitzero"`

	// outcome is how the action ended; absent while it is under way.
	// +optional
	Outcome ActionOutcome `json:"outcome,omitempty"`

	// message says more about the outcome.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// endedAt is when the outcome was found.
	// +optional
	EndedAt *metav1.Time `json:"endedAt,omitempty"`

	// removed tells that nothing is left in the cluster to remove: the object is gone, stays on purpose, or is recorded as
	// an orphan.
	// +optional
	Removed bool `json:"removed,omitempty"`
}

// ActionOutcome is how an action ended.
// +kubebuilder:validation:Enum=Succeeded;Failed;TimedOut;Cancelled
type ActionOutcome string

// Outcomes of actions.
const (
	// ActionSucceeded: the object did what it was made for.
	ActionSucceeded ActionOutcome = "Succeeded"
	// ActionFailed: the object failed, could not be made, or was removed by somebody else.
	ActionFailed ActionOutcome = "Failed"
	// ActionTimedOut: the deadline came before the end.
	ActionTimedOut ActionOutcome = "TimedOut"
	// ActionCancelled: what the action is for ended before it.
	ActionCancelled ActionOutcome = "Cancelled"
)
