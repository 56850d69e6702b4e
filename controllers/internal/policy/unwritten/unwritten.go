// Package unwritten remembers of which clusters the target of a policy could not be written the last time, and why.
package unwritten

import (
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// Memory remembers of which clusters the target could not be written the last time, and why: others get their slot before them, and
// people are told until it is written. After a restart each is tried once more.
type Memory struct {
	mutex    sync.Mutex
	byPolicy map[types.NamespacedName]map[rollout.ClusterKey]error
}

// Note remembers how a write of a cluster's target ended.
func (m *Memory) Note(policy types.NamespacedName, cluster rollout.ClusterKey, err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err == nil {
		delete(m.byPolicy[policy], cluster)
		return
	}
	if m.byPolicy == nil {
		m.byPolicy = map[types.NamespacedName]map[rollout.ClusterKey]error{}
	}
	if m.byPolicy[policy] == nil {
		m.byPolicy[policy] = map[rollout.ClusterKey]error{}
	}
	m.byPolicy[policy][cluster] = err
}

// Of are the clusters of a policy whose target could not be written, and why.
func (m *Memory) Of(policy types.NamespacedName) map[rollout.ClusterKey]error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return maps.Clone(m.byPolicy[policy])
}

// Forget a policy.
func (m *Memory) Forget(policy types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.byPolicy, policy)
}

// First is why a target could not be written, for the first cluster that still lacks what it should have, and how many more
// there are; nil for none.
func First(failures map[rollout.ClusterKey]error, after rollout.Input) error {
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
