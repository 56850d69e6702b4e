package addonrelease

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// memory is what is known of releases beyond what the cache has caught up with. All of it can be
// rebuilt from their status.
type memory struct {
	mu       sync.Mutex
	releases map[types.NamespacedName]*remembered
}

// remembered is touched by one worker at a time: a release is never in two.
type remembered struct {
	// written is the release as the last status update returned it.
	written *addonsv1alpha1.AddonRelease
	fights  map[objects.Key]fight
	// deleted are the objects whose deletion was asked for, by UID.
	deleted map[types.UID]bool
	// series of the release's metrics, to remove them by.
	series series
}

func (m *memory) of(key types.NamespacedName) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.releases == nil {
		m.releases = map[types.NamespacedName]*remembered{}
	}
	found := m.releases[key]
	if found == nil {
		found = &remembered{fights: map[objects.Key]fight{}, deleted: map[types.UID]bool{}}
		m.releases[key] = found
	}
	return found
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.releases, key)
}

// freshen puts the status that was written last in place of an older one from the cache.
func (r *remembered) freshen(release *addonsv1alpha1.AddonRelease) {
	if r.written == nil || r.written.UID != release.UID {
		return
	}
	order, err := resourceversion.CompareResourceVersion(release.ResourceVersion, r.written.ResourceVersion)
	if err != nil || order >= 0 {
		r.written = nil
		return
	}
	r.written.Status.DeepCopyInto(&release.Status)
}
