package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MaxOrphanObjects is how many objects an OrphanRecord may list: as many as an inventory may have, and the records of a
// Helm release.
const MaxOrphanObjects = 2100

// ConditionSwept of an OrphanRecord says how far the sweep of its objects is. It is never True: a record whose objects are
// all gone is deleted.
const ConditionSwept = "Swept"

// Reasons of Swept.
const (
	// ReasonSweepClusterMissing: no connected TenantCluster of the namespace has the identity of the record.
	ReasonSweepClusterMissing = "ClusterMissing"
	// ReasonSweepWaiting: the cluster is registered again, and is not to be swept yet; the message says why.
	ReasonSweepWaiting = "Waiting"
	// ReasonSweepInProgress: objects are being removed.
	ReasonSweepInProgress = "InProgress"
	// ReasonSweepObjectsKept: no more of the objects are removed; each says why, or is kept on purpose.
	ReasonSweepObjectsKept = "ObjectsKept"
)

// OrphanReason is why something was not removed.
type OrphanReason string

// Why something was not removed.
const (
	// OrphanUnreachable: its cluster did not answer before the deletion was due.
	OrphanUnreachable OrphanReason = "Unreachable"
	// OrphanTimedOut: its cluster answered, and it did not go before the deletion was due.
	OrphanTimedOut OrphanReason = "TimedOut"
	// OrphanAbandoned: the provider abandoned it with the annotation daytwo.dev/abandon.
	OrphanAbandoned OrphanReason = "Abandoned"
	// OrphanLeft: spec.deletionPolicy Orphan leaves it.
	OrphanLeft OrphanReason = "DeletionPolicyOrphan"
	// OrphanReplaced: the provider accepted another cluster in the place of its own.
	OrphanReplaced OrphanReason = "ClusterReplaced"
	// OrphanKept: it is kept when its add-on ends, and its cluster is gone.
	OrphanKept OrphanReason = "Kept"
	// OrphanVolumes: volumes that a StatefulSet claimed stay when it goes, and its cluster is gone.
	OrphanVolumes OrphanReason = "VolumesKept"
	// OrphanNoFinalBackup: a cluster was deleted without the final backup that was asked for. Nothing is listed.
	OrphanNoFinalBackup OrphanReason = "NoFinalBackup"
)

// OrphanRecordSpec is what was not removed.
type OrphanRecordSpec struct {
	// clusterName is the TenantCluster of this namespace in whose cluster the objects were.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ClusterName string `json:"clusterName,omitempty"`

	// clusterID is the cluster's identity, the UID of its namespace kube-system; absent if Daytwo never connected to it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ClusterID string `json:"clusterID,omitempty"`

	// owner is the object that Daytwo made them for.
	// +required
	Owner OrphanOwner `json:"owner,omitzero"`

	// reason is why they were not removed.
	// +required
	// +kubebuilder:validation:Enum=Unreachable;TimedOut;Abandoned;DeletionPolicyOrphan;ClusterReplaced;Kept;VolumesKept;NoFinalBackup
	Reason OrphanReason `json:"reason,omitempty"`

	// message says more about the reason.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// objects that may be there still, or whose resources outside of the cluster may: volumes, load balancers. A sweep takes
	// out what is gone.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2100
	Objects []OrphanObject `json:"objects,omitempty"`

	// moreObjects is how many objects there were no room for in objects.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MoreObjects int32 `json:"moreObjects,omitempty"`
}

// OrphanOwner is a target, or a TenantCluster, that may be gone.
type OrphanOwner struct {
	// group of its API, as in "addons.daytwo.dev".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// kind as in "AddonRelease".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// namespace of the owner.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the owner.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// policy is the name of the policy that a target belongs to, in the target's namespace; absent for a TenantCluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Policy string `json:"policy,omitempty"`
}

// OrphanObject is an object that may be there still.
type OrphanObject struct {
	// id is apiVersion/Kind/namespace/name, as in "apps/v1/Deployment/cache/web".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	ID string `json:"id,omitempty"`

	// uid tells the object from a later one of its name; absent if Daytwo never read it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// keep tells that no sweep removes it: it is kept on purpose, or is not in the workload cluster.
	// +optional
	Keep bool `json:"keep,omitempty"`

	// message says why the last sweep did not remove it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
}

// OrphanRecordStatus is how far the sweep of a record is.
type OrphanRecordStatus struct {
	// conditions are Swept.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// objects is how many there are: those of spec.objects and spec.moreObjects.
	// +optional
	Objects int32 `json:"objects"`
}

// OrphanRecord lists what Daytwo did not remove of one target, or of a cluster. Daytwo alone writes it. A person who has
// dealt with what it lists deletes it; Daytwo deletes it when the cluster is registered again and everything is removed.
//
// Spec and status are written together, so that what a sweep removed and what it says about that never differ.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=orphan,categories=daytwo
// +kubebuilder:printcolumn:name="CLUSTER",type=string,JSONPath=`.spec.clusterName`
// +kubebuilder:printcolumn:name="OWNER",type=string,priority=1,JSONPath=`.spec.owner.name`
// +kubebuilder:printcolumn:name="OBJECTS",type=integer,JSONPath=`.status.objects`
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.spec.reason`
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.conditions[?(@.type=="Swept")].message`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type OrphanRecord struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what was not removed.
	// +required
	Spec OrphanRecordSpec `json:"spec,omitzero"`

	// status is how far the sweep is.
	// +optional
	Status OrphanRecordStatus `json:"status,omitzero"`
}

// OrphanRecordList is a list of OrphanRecords.
//
// +kubebuilder:object:root=true
type OrphanRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []OrphanRecord `json:"items"`
}
