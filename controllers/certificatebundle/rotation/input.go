package rotation

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// Input is everything that a rotation depends on.
type Input struct {
	// Namespace of the policy: clusters in others are named with theirs.
	Namespace string
	PolicyUID string
	Spec      Spec
	// Confirmation is what the provider's annotation says: the generation of the authority for which the overlap may be
	// skipped, in decimal; empty for none.
	Confirmation string
	// Record as it was read past the cache, or as it was written last.
	Record Record
	// Membership that Record.Members refers to; the zero value if the object is not there.
	Membership Membership
	// Authorities that exist, in any order.
	Authorities []Authority
	// Clusters that the policy selects, and those with a target of it, each once, in any order.
	Clusters []Cluster
	// Listed: Clusters is complete, and was read past the cache after Record was.
	Listed bool
	// Gone are members of which a read by name, past the cache, found no target. Those with a target in Clusters are ignored.
	Gone []rollout.ClusterKey
	Now  time.Time
}

// Authority is a certificate authority that exists.
type Authority struct {
	Generation int64
	// Anchor is the SHA-256 of its certificate in DER form, in hexadecimal.
	Anchor    string
	CreatedAt time.Time
}

// Cluster is a TenantCluster, and what the policy has there.
type Cluster struct {
	rollout.ClusterKey
	// ID is the identity of the cluster as it is admitted; empty if it was never connected.
	ID string
	// Selected: the policy selects it. Others are here because they have a target, which the withdrawal guard may hold.
	Selected bool
	// Reachable: it answers, and it is the right one.
	Reachable bool
	// Leaving: the cluster or its target is being deleted.
	Leaving bool
	// Target is nil if there is none.
	Target *Target
}

// Target is what a cluster was told, and what it acknowledged.
type Target struct {
	// Generation of the target's spec.
	Generation int64
	// Told is in the target's spec.
	Told Told
	// Acknowledged is in the target's status.
	Acknowledged Acknowledgement
}

// Told is what a cluster should trust, and which authority its leaf should be from.
type Told struct {
	// trust are the generations of the authorities whose anchors are in the bundle, in ascending order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	Trust []int64 `json:"trust,omitempty"`

	// anchorHash is AnchorHash of their anchors.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AnchorHash string `json:"anchorHash,omitempty"`

	// issuer is the generation of the authority that leaves are issued from; absent for no leaf yet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Issuer int64 `json:"issuer,omitempty"`
}

// Equal is whether both tell the same.
func (t Told) Equal(other Told) bool {
	return t.AnchorHash == other.AnchorHash && t.Issuer == other.Issuer
}

// Acknowledgement is what a target read back in its cluster.
type Acknowledgement struct {
	// policyUID is the UID of the policy that the target belonged to.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	PolicyUID string `json:"policyUID,omitempty"`

	// generation of the target's spec that was carried out.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Generation int64 `json:"generation,omitempty"`

	// clusterUID is the identity of the cluster that answered.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ClusterUID string `json:"clusterUID,omitempty"`

	// anchorHash is AnchorHash of the bundle that is stored there; empty for none.
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

	// reloadComplete: all workloads have loaded the bundle that is stored there, so that trustPropagation need not pass.
	// +optional
	ReloadComplete bool `json:"reloadComplete,omitempty"`
}

// AnchorHash is what a bundle of anchors is known by: the SHA-256 of their own hashes in ascending order, in hexadecimal. Certificates
// in the bundle that belong to no authority of the policy are not part of it.
func AnchorHash(anchors ...string) string {
	sorted := slices.Sorted(slices.Values(anchors))
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(sorted), "\n")))
	return hex.EncodeToString(sum[:])
}

// current is whether the acknowledgement is of what the target tells now.
func (t *Target) current(policyUID string) bool {
	return t.Acknowledged.PolicyUID == policyUID && t.Acknowledged.Generation == t.Generation
}
