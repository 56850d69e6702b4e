package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Condition types of a TenantCluster, beside the common ones.
const (
	// ConditionKubeconfigValid: the kubeconfig was found and holds nothing that is refused.
	ConditionKubeconfigValid = "KubeconfigValid"
	// ConditionConnected: the cluster's API server answers.
	ConditionConnected = "Connected"
	// ConditionIdentityConflict is True when the kubeconfig leads to a cluster that it must not
	// lead to: another one than before, one that is registered already, or the management cluster.
	ConditionIdentityConflict = "IdentityConflict"
	// ConditionCredentialsExpiring is True from some days before the client certificate or token
	// expires (--credentials-expiry-warning, 14 days by default). Absent otherwise.
	ConditionCredentialsExpiring = "CredentialsExpiring"

	// ConditionUnrecordedObjects is True while there are objects in the cluster that carry this installation's label,
	// and that no add-on has on record. Absent otherwise.
	ConditionUnrecordedObjects = "UnrecordedObjects"
)

// Reasons of KubeconfigValid.
const (
	// ReasonKubeconfigAccepted: the kubeconfig was checked and is in use.
	ReasonKubeconfigAccepted = "Accepted"
	// ReasonSecretNotFound: the referenced Secret, or its key, does not exist.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonKubeconfigRefused: the kubeconfig holds something that is refused; the message names the field.
	ReasonKubeconfigRefused = "Refused"
	// ReasonClusterNotFound: spec.clusterRef names a Cluster API Cluster that does not exist.
	ReasonClusterNotFound = "ClusterNotFound"
	// ReasonClusterAPIMissing: spec.clusterRef needs Cluster API, which is not installed.
	ReasonClusterAPIMissing = "ClusterAPIMissing"
)

// Reasons of Connected.
const (
	// ReasonConnected: the API server answered and its identity was checked.
	ReasonConnected = "Connected"
	// ReasonConnecting: the first answer is awaited.
	ReasonConnecting = "Connecting"
	// ReasonUnreachable: no answer; the message says what was tried and what came of it.
	ReasonUnreachable = "Unreachable"
	// ReasonUnauthorized: the API server answers and refuses the credentials.
	ReasonUnauthorized = "Unauthorized"
	// ReasonNoAccess: there is no kubeconfig to connect with.
	ReasonNoAccess = "NoAccess"
)

// Reasons of CredentialsExpiring.
const (
	// ReasonExpiresSoon: the credentials end within the time of the warning.
	ReasonExpiresSoon = "ExpiresSoon"
	// ReasonExpired: the credentials have ended.
	ReasonExpired = "Expired"
)

// Reasons of IdentityConflict.
const (
	// ReasonIdentityConfirmed: the cluster is the one that was recorded.
	ReasonIdentityConfirmed = "Confirmed"
	// ReasonIdentityChanged: the kubeconfig led to another cluster before.
	ReasonIdentityChanged = "Changed"
	// ReasonAlreadyRegistered: the cluster is registered already.
	ReasonAlreadyRegistered = "AlreadyRegistered"
	// ReasonManagementCluster: the management cluster is nobody's workload cluster outside the
	// provider's namespace.
	ReasonManagementCluster = "ManagementCluster"
)

// TenantClusterSpec says how a workload cluster is reached, or what it is to be.
//
// +kubebuilder:validation:XValidation:rule="[has(self.kubeconfigRef), has(self.clusterRef), has(self.topology)].filter(one, one).size() == 1",message="exactly one of kubeconfigRef, clusterRef and topology must be set"
// +kubebuilder:validation:XValidation:rule="has(self.topology) == has(oldSelf.topology)",message="a cluster that was ordered with topology stays so, and another one does not become so: make another TenantCluster"
type TenantClusterSpec struct {
	// kubeconfigRef imports any conformant cluster through a kubeconfig in a Secret of the same
	// namespace. Only the server, its CA and embedded credentials are used of it.
	// +optional
	KubeconfigRef *KubeconfigReference `json:"kubeconfigRef,omitempty"`

	// clusterRef names a Cluster API Cluster of the same namespace, which is reached through its
	// Secret <name>-kubeconfig.
	// +optional
	ClusterRef *metav1alpha1.LocalReference `json:"clusterRef,omitempty"`

	// topology orders a cluster from Cluster API, and keeps it as ordered: a Cluster of this object's
	// name and namespace.
	// +optional
	Topology *ClusterTopology `json:"topology,omitempty"`

	// upgrade says when topology.version may change.
	// +optional
	Upgrade UpgradePolicy `json:"upgrade,omitzero"`

	// maintenanceWindows are when what disturbs the cluster may be done; at any time if there are none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	MaintenanceWindows []metav1alpha1.RecurringWindow `json:"maintenanceWindows,omitempty"`

	// deletion says how the cluster goes when this object is deleted.
	// +optional
	Deletion DeletionPolicy `json:"deletion,omitzero"`

	// suspend keeps Daytwo's hands off the cluster: drift is reported and not corrected, and no
	// new revision is applied. Deleting still cleans up.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// deletionProtection refuses the deletion of this object until it is set to false.
	// +optional
	DeletionProtection bool `json:"deletionProtection,omitempty"`
}

// TenantClusterStatus is what is known of a workload cluster.
type TenantClusterStatus struct {
	// conditions are Ready, Reconciling, Stalled, KubeconfigValid, Connected, IdentityConflict,
	// CredentialsExpiring, CredentialsRenewed, UnrecordedObjects, OrphansRecorded, and of an ordered cluster Provisioned, ControlPlaneReady,
	// WorkersReady, Upgraded.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase is how the cluster is, in one word.
	// +optional
	// +kubebuilder:validation:Enum=Pending;Provisioning;Running;Upgrading;Unreachable;Failed;Deleting
	Phase ClusterPhase `json:"phase,omitempty"`

	// orderedVersion is the version of Kubernetes that Cluster API was asked for last.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	OrderedVersion string `json:"orderedVersion,omitempty"`

	// topologyHash is that of the Cluster's spec.topology as Cluster API took the order last, with the
	// defaults that it filled in. A Cluster that has another one was edited.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TopologyHash string `json:"topologyHash,omitempty"`

	// upgrade that is under way. What runs in the cluster is left alone until it is over.
	// +optional
	Upgrade *Upgrade `json:"upgrade,omitempty"`

	// deletion is how far the deletion is; absent unless the object is being deleted.
	// +optional
	Deletion *Deletion `json:"deletion,omitempty"`

	// maintenanceWindow is the one that is open, or else the next one.
	// +optional
	MaintenanceWindow *Span `json:"maintenanceWindow,omitempty"`

	// clusterID is the cluster's identity: the UID of its namespace kube-system, recorded before
	// anything is written there.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ClusterID string `json:"clusterID,omitempty"`

	// version of the API server, as in "v1.36.3".
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`

	// endpoint is the URL of the API server.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Endpoint string `json:"endpoint,omitempty"`

	// lastSeen is when the cluster answered last. It is absent while the cluster is connected: it answers now, and the metric
	// daytwo_cluster_last_seen_timestamp_seconds tells when it did so last.
	// +optional
	LastSeen *metav1.Time `json:"lastSeen,omitempty"`

	// kubeconfigExpiresAt is when the client certificate or token in use expires, where it says so. With
	// spec.kubeconfigRef.renew, that is the token that Daytwo renews.
	// +optional
	KubeconfigExpiresAt *metav1.Time `json:"kubeconfigExpiresAt,omitempty"`
}

// TenantCluster is one workload cluster of the fleet.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters: it is used as a label value"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.topology) || !has(oldSelf.spec.topology) || self.spec.topology.version == oldSelf.spec.topology.version || !has(oldSelf.status) || !has(oldSelf.status.orderedVersion) || (int(self.spec.topology.version.substring(1).split('.')[0]) == int(oldSelf.status.orderedVersion.substring(1).split('.')[0]) && int(self.spec.topology.version.split('.')[1]) <= int(oldSelf.status.orderedVersion.split('.')[1]) + 1)",messageExpression="'spec.topology.version ' + self.spec.topology.version + ' is more than one minor version from ' + oldSelf.status.orderedVersion + ', which runs: go one minor version at a time'"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.topology) || !has(oldSelf.spec.topology) || self.spec.topology.version == oldSelf.spec.topology.version || !has(oldSelf.status) || !has(oldSelf.status.orderedVersion) || int(self.spec.topology.version.split('.')[1]) > int(oldSelf.status.orderedVersion.split('.')[1]) || (int(self.spec.topology.version.split('.')[1]) == int(oldSelf.status.orderedVersion.split('.')[1]) && int(self.spec.topology.version.split('.')[2].split('-')[0].split('+')[0]) >= int(oldSelf.status.orderedVersion.split('.')[2].split('-')[0].split('+')[0]))",messageExpression="'spec.topology.version ' + self.spec.topology.version + ' is older than ' + oldSelf.status.orderedVersion + ', which runs: Kubernetes cannot be downgraded'"
// +kubebuilder:resource:shortName=tc,categories=daytwo
// +kubebuilder:printcolumn:name="PHASE",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="VERSION",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="CONNECTED",type=string,JSONPath=`.status.conditions[?(@.type=="Connected")].status`
// +kubebuilder:printcolumn:name="ENDPOINT",type=string,priority=1,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="EXPIRES",type=string,priority=1,JSONPath=`.status.kubeconfigExpiresAt`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type TenantCluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says how the cluster is reached.
	// +required
	Spec TenantClusterSpec `json:"spec,omitzero"`

	// status is what is known of it.
	// +optional
	Status TenantClusterStatus `json:"status,omitzero"`
}

// TenantClusterList is a list of TenantClusters.
//
// +kubebuilder:object:root=true
type TenantClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []TenantCluster `json:"items"`
}
