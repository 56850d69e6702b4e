package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types of a TenantCluster that Daytwo orders from Cluster API, beside the others.
const (
	// ConditionProvisioned: the cluster's infrastructure is there.
	ConditionProvisioned = "Provisioned"
	// ConditionControlPlaneReady: the control plane is available.
	ConditionControlPlaneReady = "ControlPlaneReady"
	// ConditionWorkersReady: the workers are available. Absent for a cluster without any.
	ConditionWorkersReady = "WorkersReady"
	// ConditionUpgraded is True when the cluster has the version of spec.topology, and False while an
	// upgrade waits or runs; the message says for what, or how far it is.
	ConditionUpgraded = "Upgraded"
)

// Reasons of Provisioned, ControlPlaneReady and WorkersReady.
const (
	// ReasonAvailable: it is there and works.
	ReasonAvailable = "Available"
	// ReasonNotAvailable: it is not, or not yet; the message names the object that says so, and what it
	// says.
	ReasonNotAvailable = "NotAvailable"
	// ReasonOrdered: Cluster API has the order and has said nothing of it yet.
	ReasonOrdered = "Ordered"
)

// Reasons of Upgraded, and of Ready where an order cannot be carried out.
const (
	// ReasonUpgraded: the cluster has the version that it should have.
	ReasonUpgraded = "Upgraded"
	// ReasonUpgrading: an upgrade is under way.
	ReasonUpgrading = "Upgrading"
	// ReasonTargetsNotReady: the upgrade waits until what runs in the cluster is Ready.
	ReasonTargetsNotReady = "TargetsNotReady"
	// ReasonBackupRequired: the upgrade waits for a backup that is fresh enough.
	ReasonBackupRequired = "BackupRequired"
	// ReasonClusterNotReady: the upgrade waits until the cluster itself has no trouble.
	ReasonClusterNotReady = "ClusterNotReady"
	// ReasonVersionSkew: the version is older than what runs, or more than one minor version newer.
	ReasonVersionSkew = "VersionSkew"
	// ReasonNameConflict: there is a Cluster of that name which Daytwo did not make.
	ReasonNameConflict = "NameConflict"
	// ReasonOrderRefused: Cluster API refuses the order; the message says what it says.
	ReasonOrderRefused = "OrderRefused"
	// ReasonNamespaceNameTooLong: the name of the namespace in which the Cluster would be made is too long.
	ReasonNamespaceNameTooLong = "NamespaceNameTooLong"
	// ReasonNamespaceConflict: the namespace in which the Cluster would be made is there already, and is not marked as this
	// customer's.
	ReasonNamespaceConflict = "NamespaceConflict"
	// ReasonClassNotAllowed: the ClusterClass is in a namespace from which the provider lets none be used.
	ReasonClassNotAllowed = "ClassNotAllowed"
	// ReasonMetadataNotAllowed: the order has a label or annotation that is not passed on.
	ReasonMetadataNotAllowed = "MetadataNotAllowed"
	// ReasonProvisioning: the cluster is being made.
	ReasonProvisioning = "Provisioning"
)

// ClusterTopology orders a cluster from Cluster API. Its fields mean what those of the same name in a
// Cluster's spec.topology mean.
type ClusterTopology struct {
	// classRef names the ClusterClass.
	// +required
	ClassRef ClusterClassReference `json:"classRef,omitzero"`

	// version of Kubernetes, as in "v1.36.3". It is raised by at most one minor version at a time, and
	// never lowered.
	// +required
	// +kubebuilder:validation:MinLength=6
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^v[0-9]{1,3}\.[0-9]{1,4}\.[0-9]{1,4}([-+][0-9A-Za-z.+-]+)?$`
	Version string `json:"version,omitempty"`

	// metadata is passed on to the Cluster.
	// +optional
	Metadata TopologyMetadata `json:"metadata,omitzero"`

	// controlPlane is the cluster's control plane.
	// +optional
	ControlPlane TopologyControlPlane `json:"controlPlane,omitzero"`

	// workers are the cluster's pools of workers.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	Workers []TopologyWorkers `json:"workers,omitempty"`

	// variables of the ClusterClass.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=200
	Variables []TopologyVariable `json:"variables,omitempty"`
}

// ClusterClassReference names a ClusterClass.
type ClusterClassReference struct {
	// namespace of the ClusterClass, one of those that the manager's --class-namespaces lists; the first of these by default.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the ClusterClass.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// TopologyMetadata are labels and annotations that are passed on.
type TopologyMetadata struct {
	// labels to pass on. Keys below cluster.x-k8s.io, daytwo.dev and their subdomains are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(key, key.matches('^([^/]*[.])?(cluster[.]x-k8s[.]io|daytwo[.]dev)/'))",message="keys below cluster.x-k8s.io, daytwo.dev and their subdomains are instructions to Cluster API and to Daytwo: use keys of your own"
	Labels map[string]string `json:"labels,omitempty"`

	// annotations to pass on. Keys below cluster.x-k8s.io, daytwo.dev and their subdomains are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(key, key.matches('^([^/]*[.])?(cluster[.]x-k8s[.]io|daytwo[.]dev)/'))",message="keys below cluster.x-k8s.io, daytwo.dev and their subdomains are instructions to Cluster API and to Daytwo: use keys of your own"
	Annotations map[string]string `json:"annotations,omitempty"`
}

// TopologyControlPlane is a control plane.
type TopologyControlPlane struct {
	// metadata is passed on to the control plane and its machines.
	// +optional
	Metadata TopologyMetadata `json:"metadata,omitzero"`

	// replicas is how many members it has; what the ClusterClass says by default.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	Replicas *int32 `json:"replicas,omitempty"`
}

// TopologyWorkers is a pool of workers: a MachineDeployment.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.replicas) && has(self.autoscaling))",message="replicas and autoscaling exclude each other: with autoscaling, the autoscaler sets the replicas"
type TopologyWorkers struct {
	// class of the workers in the ClusterClass.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Class string `json:"class,omitempty"`

	// name of the pool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// metadata is passed on to the MachineDeployment and its machines.
	// +optional
	Metadata TopologyMetadata `json:"metadata,omitzero"`

	// replicas is how many workers there are; 1 by default.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	Replicas *int32 `json:"replicas,omitempty"`

	// autoscaling leaves the number of workers to Cluster API's autoscaler.
	// +optional
	Autoscaling *TopologyAutoscaling `json:"autoscaling,omitempty"`
}

// TopologyAutoscaling bounds the number of workers.
//
// +kubebuilder:validation:XValidation:rule="self.min <= self.max",message="min must not be greater than max"
type TopologyAutoscaling struct {
	// min is the least number of workers.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	Min *int32 `json:"min,omitempty"`

	// max is the greatest number of workers.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Max *int32 `json:"max,omitempty"`
}

// TopologyVariable is the value of one of the ClusterClass's variables.
type TopologyVariable struct {
	// name of the variable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// value of the variable, of the type that the ClusterClass says.
	// +required
	Value apiextensionsv1.JSON `json:"value,omitempty,omitzero"`
}

// UpgradePolicy says when the version of an ordered cluster may change.
type UpgradePolicy struct {
	// ignoreUnready upgrades even while something that runs in the cluster is not Ready.
	// +optional
	IgnoreUnready bool `json:"ignoreUnready,omitempty"`

	// requireBackupWithin holds an upgrade back until the cluster has a backup that is not older.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m')",message="must be at least 1m"
	RequireBackupWithin *metav1.Duration `json:"requireBackupWithin,omitempty"`
}

// ClusterPhase tells people in one word how a cluster is.
type ClusterPhase string

// Phases of a TenantCluster.
const (
	// PhasePending: nothing is there yet.
	PhasePending ClusterPhase = "Pending"
	// PhaseProvisioning: Cluster API makes the cluster.
	PhaseProvisioning ClusterPhase = "Provisioning"
	// PhaseRunning: the cluster is connected.
	PhaseRunning ClusterPhase = "Running"
	// PhaseUpgrading: the cluster gets another version.
	PhaseUpgrading ClusterPhase = "Upgrading"
	// PhaseUnreachable: the cluster does not answer.
	PhaseUnreachable ClusterPhase = "Unreachable"
	// PhaseFailed: a person has to do something; Ready says what.
	PhaseFailed ClusterPhase = "Failed"
	// PhaseDeleting: the cluster is going.
	PhaseDeleting ClusterPhase = "Deleting"
)

// Upgrade is a change of version that is under way.
type Upgrade struct {
	// from is the version before.
	// +required
	// +kubebuilder:validation:MaxLength=64
	From string `json:"from,omitempty"`

	// to is the version after.
	// +required
	// +kubebuilder:validation:MaxLength=64
	To string `json:"to,omitempty"`

	// startedAt is when it was decided.
	// +required
	StartedAt metav1.Time `json:"startedAt,omitzero"`
}

// Span is a span of time.
type Span struct {
	// start of the span.
	// +required
	Start metav1.Time `json:"start,omitzero"`

	// end of the span.
	// +required
	End metav1.Time `json:"end,omitzero"`
}
