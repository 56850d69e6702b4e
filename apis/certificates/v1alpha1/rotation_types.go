package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// ManagedAuthority is a root that Daytwo makes for the bundle and for nothing else. Each rotation makes another one, its next generation.
type ManagedAuthority struct {
	// commonName of the subject; the namespace and the name of the bundle by default. The generation is appended, as in "web 3".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=48
	CommonName string `json:"commonName,omitempty"`

	// duration for which a generation is valid, from 24h. It holds for the next generation that is made. The default is 87600h.
	// +optional
	// +default="87600h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('24h')",message="use 24h or more"
	Duration *metav1.Duration `json:"duration,omitempty"`

	// algorithm of the key, ECDSA on P-256 or RSA with 4096 bits. It holds for the next generation that is made.
	// The default is ECDSA.
	// +optional
	// +default="ECDSA"
	// +kubebuilder:validation:Enum=ECDSA;RSA
	Algorithm string `json:"algorithm,omitempty"`
}

// RotationSpec says when and how the authority of a bundle is replaced.
type RotationSpec struct {
	// ca is a token: a rotation starts when it changes. The one that a policy is created with starts none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	CA string `json:"ca,omitempty"`

	// age starts a rotation when the current authority is older, from 1h; absent for never.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h')",message="use 1h or more"
	Age metav1.Duration `json:"age,omitzero"`

	// trustPropagation is how long workloads take to load what is stored in their cluster, from 1s; 15 minutes by default.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="use 1s or more"
	TrustPropagation metav1.Duration `json:"trustPropagation,omitzero"`

	// minOverlap is how long the old anchor stays after the last leaf of the old authority was replaced, 24 hours by
	// default; never shorter than trustPropagation.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="use 1s or more"
	MinOverlap metav1.Duration `json:"minOverlap,omitzero"`

	// rollback is the generation of the authority whose rotation is rolled back: next.generation in the status. It does
	// nothing to any other rotation. Removing it before Completing goes forward again.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Rollback int64 `json:"rollback,omitempty"`

	// emergencyReason says why a rotation removes the old anchor without waiting for anybody. The provider has to confirm it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	EmergencyReason string `json:"emergencyReason,omitempty"`

	// exclude are clusters that a rotation does not wait for. They may reject leaves of others, and others theirs.
	// +optional
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=100
	Exclude []RotationExclusion `json:"exclude,omitempty"`
}

// RotationExclusion is a cluster that a person does not want to wait for.
type RotationExclusion struct {
	// cluster by its name, as namespace/name where the namespace is not the policy's own.
	// +required
	// +kubebuilder:validation:MaxLength=317
	Cluster string `json:"cluster"`

	// reason for people. An exclusion without a reason does not count.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason"`
}

// RotationPhase is how far a rotation is.
// +kubebuilder:validation:Enum=Idle;Preparing;Prepared;Switching;Switched;Completing
type RotationPhase string

// Phases of a rotation, in their order.
const (
	// RotationIdle: no rotation. One authority is in use.
	RotationIdle RotationPhase = "Idle"
	// RotationPreparing: the next authority is made, and both anchors are told to every cluster.
	RotationPreparing RotationPhase = "Preparing"
	// RotationPrepared: every cluster acknowledged both anchors and has loaded them.
	RotationPrepared RotationPhase = "Prepared"
	// RotationSwitching: leaves are issued from the other authority.
	RotationSwitching RotationPhase = "Switching"
	// RotationSwitched: every leaf is from the other authority. The overlap passes.
	RotationSwitched RotationPhase = "Switched"
	// RotationCompleting: the anchor that is not needed any more is removed. There is no way back.
	RotationCompleting RotationPhase = "Completing"
)

// RotationRecord is what a policy's status remembers of the rotation. It is persisted before any target changes, and its size does not
// depend on the number of clusters.
type RotationRecord struct {
	// phase of the rotation.
	// +optional
	Phase RotationPhase `json:"phase,omitempty"`

	// since is when the phase began. No rule depends on it, except that the age of an authority counts from there after a rollback.
	// +optional
	Since metav1.Time `json:"since,omitzero"`

	// token is the value of spec.rotation.ca for which no rotation starts any more.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Token string `json:"token,omitempty"`

	// current is the authority in use, and during a rotation the one that is replaced.
	// +optional
	Current AuthorityReference `json:"current,omitzero"`

	// next is the authority that replaces it; absent while there is no rotation.
	// +optional
	Next AuthorityReference `json:"next,omitzero"`

	// rollingBack says that the rotation goes back to the current authority. While idle, the last one did.
	// +optional
	RollingBack bool `json:"rollingBack,omitempty"`

	// issued says that there may be leaves of the next authority.
	// +optional
	Issued bool `json:"issued,omitempty"`

	// adopted says that the record was lost and made again, and not every cluster is known to trust the current authority since.
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// emergency is why the old anchor is removed without an overlap; empty if there is one.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Emergency string `json:"emergency,omitempty"`

	// members are the clusters that take part.
	// +optional
	Members RotationMembers `json:"members,omitzero"`

	// lastGeneration is the highest generation that an authority ever had. None is used twice.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LastGeneration int64 `json:"lastGeneration,omitempty"`
}

// RotationStatus is the record of a rotation, and what its next step waits for.
type RotationStatus struct {
	RotationRecord `json:",inline"`

	// blockedBy is what the next step waits for, one entry for each reason.
	// +optional
	// +listType=map
	// +listMapKey=reason
	// +kubebuilder:validation:MaxItems=16
	BlockedBy []RotationBlocker `json:"blockedBy,omitempty"`
}

// AuthorityReference names an authority.
type AuthorityReference struct {
	// generation of the authority, from 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Generation int64 `json:"generation,omitempty"`

	// anchor is the SHA-256 of the authority's certificate in DER form, in hexadecimal; empty until it is made.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Anchor string `json:"anchor,omitempty"`
}

// RotationMembers refers to the names of clusters, which are stored beside the policy.
type RotationMembers struct {
	// count of clusters, those included that are gone.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count,omitempty"`

	// hash of their names; empty for none.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Hash string `json:"hash,omitempty"`
}

// AuthorityAcknowledgement is what a delivery read back in its cluster.
type AuthorityAcknowledgement struct {
	// policyUID is the UID of the policy that the delivery belonged to.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	PolicyUID string `json:"policyUID,omitempty"`

	// generation of the delivery's spec that was carried out.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Generation int64 `json:"generation,omitempty"`

	// clusterUID is the identity of the cluster that answered.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ClusterUID string `json:"clusterUID,omitempty"`

	// anchorHash is the hash of the anchors of the authorities that is stored there; empty for none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AnchorHash string `json:"anchorHash,omitempty"`

	// trustSince is when that bundle was stored there; absent if there is none. It changes when the bundle is stored again after
	// something else was found there.
	// +optional
	TrustSince metav1.Time `json:"trustSince,omitzero"`

	// issuer is the generation of the authority that the leaf stored there is from; absent if there is none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Issuer int64 `json:"issuer,omitempty"`

	// replacedAt is when the last leaf of another authority was replaced or removed there; absent if there never was one. A renewal from
	// the same authority leaves it as it is.
	// +optional
	ReplacedAt metav1.Time `json:"replacedAt,omitzero"`

	// reloadComplete says that all workloads have loaded the bundle that is stored there, so that trustPropagation need not pass.
	// +optional
	ReloadComplete bool `json:"reloadComplete,omitempty"`
}

// RotationBlocker is what the next step waits for. A status has one for each reason, so its size does not depend on the number of clusters.
type RotationBlocker struct {
	// reason in CamelCase.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`

	// message tells people what is waited for, where, and what they can do.
	// +required
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message"`

	// clusters that are waited for; none if it is something else.
	// +optional
	Clusters metav1alpha1.ClusterCount `json:"clusters,omitzero"`
}

// DeliveredAuthority is what a cluster should trust because of spec.ca of its bundle.
type DeliveredAuthority struct {
	// policyUID is the UID of the bundle.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	PolicyUID string `json:"policyUID,omitempty"`

	// generations of the authorities whose anchors these are, in ascending order.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	Generations []int64 `json:"generations,omitempty"`

	// anchorHash is the hash of the anchors.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	AnchorHash string `json:"anchorHash,omitempty"`

	// anchors in PEM.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Anchors string `json:"anchors,omitempty"`
}
