package rotation

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

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
	// Trust are the generations of the authorities whose anchors are in the bundle, in ascending order.
	Trust []int64
	// AnchorHash is AnchorHash of their anchors.
	AnchorHash string
	// Issuer is the generation of the authority that leaves are issued from; 0 for no leaf yet.
	Issuer int64
}

// Equal is whether both tell the same.
func (t Told) Equal(other Told) bool {
	return t.AnchorHash == other.AnchorHash && t.Issuer == other.Issuer
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
