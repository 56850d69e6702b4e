package policy

import (
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// unwritten remembers of which clusters the target could not be written the last time: others get their slot before them. After a
// restart each is tried once more.
type unwritten struct {
	mutex    sync.Mutex
	byPolicy map[types.NamespacedName]sets.Set[rollout.ClusterKey]
}

// note remembers how a write of a cluster's target ended, and returns its error. That the cache was behind is no failure.
func (u *unwritten) note(policy types.NamespacedName, cluster rollout.ClusterKey, err error) error {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	switch {
	case err == nil:
		u.byPolicy[policy].Delete(cluster)
	case errors.Is(err, errOutdated) || apierrors.IsConflict(err):
	case u.byPolicy == nil:
		u.byPolicy = map[types.NamespacedName]sets.Set[rollout.ClusterKey]{policy: sets.New(cluster)}
	default:
		u.byPolicy[policy] = inserted(u.byPolicy[policy], cluster)
	}
	return err
}

// of are the clusters of a policy whose target could not be written.
func (u *unwritten) of(policy types.NamespacedName) sets.Set[rollout.ClusterKey] {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.byPolicy[policy].Clone()
}

func (u *unwritten) forget(policy types.NamespacedName) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	delete(u.byPolicy, policy)
}
