package rotation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phase is how far a rotation is.
// +kubebuilder:validation:Enum=Idle;Preparing;Prepared;Switching;Switched;Completing
type Phase string

// Phases of a rotation, in their order.
const (
	// Idle: no rotation. One authority is in use.
	Idle Phase = "Idle"
	// Preparing: the next authority is made, and both anchors are told to every cluster.
	Preparing Phase = "Preparing"
	// Prepared: every cluster acknowledged both anchors and has loaded them.
	Prepared Phase = "Prepared"
	// Switching: leaves are issued from the other authority.
	Switching Phase = "Switching"
	// Switched: every leaf is from the other authority. The overlap passes.
	Switched Phase = "Switched"
	// Completing: the anchor that is not needed any more is removed. There is no way back.
	Completing Phase = "Completing"
)

// Record is what a policy's status remembers of the rotation. It is persisted before any target changes, and its size does not
// depend on the number of clusters.
type Record struct {
	// phase of the rotation.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// since is when the phase began. No rule depends on it, except that the age of an authority counts from there after a rollback.
	// +optional
	Since metav1.Time `json:"since,omitzero"`

	// token is the value of spec.rotation.ca for which no rotation starts any more.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Token string `json:"token,omitempty"`

	// current is the authority in use, and during a rotation the one that is replaced.
	// +optional
	Current Reference `json:"current,omitzero"`

	// next is the authority that replaces it; absent while there is no rotation.
	// +optional
	Next Reference `json:"next,omitzero"`

	// rollingBack: the rotation goes back to the current authority. While idle, the last one did.
	// +optional
	RollingBack bool `json:"rollingBack,omitempty"`

	// issued: there may be leaves of the next authority.
	// +optional
	Issued bool `json:"issued,omitempty"`

	// adopted: the record was lost and made again, and not every cluster is known to trust the current authority since.
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// emergency is why the old anchor is removed without an overlap; empty if there is one.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Emergency string `json:"emergency,omitempty"`

	// members are the clusters that take part.
	// +optional
	Members Members `json:"members,omitzero"`

	// lastGeneration is the highest generation that an authority ever had. None is used twice.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LastGeneration int64 `json:"lastGeneration,omitempty"`
}

// Reference names an authority.
type Reference struct {
	// generation of the authority, from 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Generation int64 `json:"generation,omitempty"`

	// anchor is the SHA-256 of the authority's certificate in DER form, in hexadecimal; empty until it is made.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Anchor string `json:"anchor,omitempty"`
}

// Members refers to a Membership, which is stored beside the policy.
type Members struct {
	// count of clusters, those included that are gone.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count,omitempty"`

	// hash of their names; empty for none.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Hash string `json:"hash,omitempty"`
}

// arriving is the authority that leaves are to be from in the end.
func (r *Record) arriving() Reference {
	if r.Next.Generation == 0 || r.RollingBack {
		return r.Current
	}
	return r.Next
}

// leaving is the authority whose anchor is to go.
func (r *Record) leaving() Reference {
	if r.RollingBack {
		return r.Next
	}
	return r.Current
}

// active is whether a rotation is under way.
func (r *Record) active() bool { return r.Phase != "" && r.Phase != Idle }

// nothingIssued is whether the rotation goes back before there could be any leaf of the next authority.
func (r *Record) nothingIssued() bool { return r.RollingBack && !r.Issued }
