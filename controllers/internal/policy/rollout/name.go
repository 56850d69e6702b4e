package rollout

import (
	"strings"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

const maxNameLength = 63

// TargetName is the name of a policy's target for a cluster: a DNS label of at most 63
// characters, `<policy>-<cluster>` as far as it fits and 8 hex digits of a hash. The hash covers
// the policy as well as the cluster's namespace and name, since two long names may be equal
// as far as they fit.
func TargetName(policy string, cluster ClusterKey) string {
	readable := strings.ReplaceAll(policy+"-"+cluster.Name, ".", "-")
	return objects.ShortName(maxNameLength, readable, policy+"/"+cluster.Namespace+"/"+cluster.Name)
}
