package policy

import (
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// unwritten remembers of which clusters the target could not be written the last time, and why: others get their slot before them, and
// people are told until it is written. After a restart each is tried once more.
type unwritten struct {
	mutex    sync.Mutex
	byPolicy map[types.NamespacedName]map[rollout.ClusterKey]error
}

// note remembers how a write of a cluster's target ended, and returns its error. That the cache was behind is no failure.
func (u *unwritten) note(policy types.NamespacedName, cluster rollout.ClusterKey, err error) error {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	switch {
	case err == nil:
		delete(u.byPolicy[policy], cluster)
		return nil
	case isBehind(err):
		return err
	case u.byPolicy == nil:
		u.byPolicy = map[types.NamespacedName]map[rollout.ClusterKey]error{}
	}
	if u.byPolicy[policy] == nil {
		u.byPolicy[policy] = map[rollout.ClusterKey]error{}
	}
	u.byPolicy[policy][cluster] = err
	return err
}

// of are the clusters of a policy whose target could not be written, and why.
func (u *unwritten) of(policy types.NamespacedName) map[rollout.ClusterKey]error {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return maps.Clone(u.byPolicy[policy])
}

func (u *unwritten) forget(policy types.NamespacedName) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	delete(u.byPolicy, policy)
}

// firstUnwritten is why a target could not be written, for the first cluster that still lacks what it should have, and how many more
// there are; nil for none.
func firstUnwritten(failures map[rollout.ClusterKey]error, after rollout.Input) error {
	if len(failures) == 0 {
		return nil
	}
	targets := make(map[rollout.ClusterKey]*rollout.Target, len(after.Targets))
	for i := range after.Targets {
		targets[after.Targets[i].Cluster] = &after.Targets[i]
	}
	var first error
	more := 0
	for i := range after.Clusters {
		wanted := &after.Clusters[i]
		target, err := targets[wanted.ClusterKey], failures[wanted.ClusterKey]
		switch {
		case err == nil || target.Names(wanted) || wanted.Deleting:
		case first == nil:
			first = err
		default:
			more++
		}
	}
	if more > 0 {
		return fmt.Errorf("%w (and %s)", first, plural.Of(more, "further target"))
	}
	return first
}
