package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	maxNameLength  = 63
	nameHashLength = 8
)

// TargetName is the name of a policy's target for a cluster: a DNS label of at most 63
// characters, `<policy>-<cluster>` as far as it fits and 8 hex digits of a hash. The hash covers
// the policy as well as the cluster's namespace and name, since two long names may be equal
// as far as they fit.
func TargetName(policy string, cluster ClusterKey) string {
	sum := sha256.Sum256([]byte(policy + "/" + cluster.Namespace + "/" + cluster.Name))
	hash := hex.EncodeToString(sum[:])[:nameHashLength]

	readable := strings.ReplaceAll(policy+"-"+cluster.Name, ".", "-")
	if limit := maxNameLength - nameHashLength - 1; len(readable) > limit {
		readable = readable[:limit]
	}
	return strings.TrimRight(readable, "-") + "-" + hash
}
