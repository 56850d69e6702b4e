package addonrelease

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// memory is what is known of releases beyond what the cache has caught up with. All of it can be
// rebuilt from their status.
type memory struct {
	mu       sync.Mutex
	releases map[types.NamespacedName]*remembered
}

// remembered is touched by one worker at a time, since a release is never in two; apart from written.
type remembered struct {
	mu sync.Mutex
	// written is the release as the last status update returned it, until the cache shows it.
	written *addonsv1alpha1.AddonRelease
	// unsaved is a status that waits for what the watches are about to show; nil if none does.
	unsaved *addonsv1alpha1.AddonRelease
	// set is what is remembered of the objects.
	set apply.Memory
	// reported is the drift that was left in place and counted, by the fingerprint that showed it.
	reported map[objects.Key]string
	// recordPending: the record of the Helm release says that an operation is under way, or may do.
	recordPending bool
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
		found = &remembered{}
		m.releases[key] = found
	}
	return found
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.releases, key)
}

// wrote keeps what a status update returned.
func (r *remembered) wrote(release *addonsv1alpha1.AddonRelease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written = release.DeepCopy()
}

// freshen puts the release that was written last in place of an older one from the cache.
func (r *remembered) freshen(release *addonsv1alpha1.AddonRelease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isBehind(release) {
		r.written.DeepCopyInto(release)
	}
}

// latestStatus is the status of a release, or the one that was not written yet. Lost with the manager, that is found out
// anew: what was about to be applied was written before.
func (r *remembered) latestStatus(release *addonsv1alpha1.AddonRelease) (status addonsv1alpha1.AddonReleaseStatus, restored bool) {
	if r.unsaved == nil || r.unsaved.UID != release.UID {
		return *release.Status.DeepCopy(), false
	}
	return *r.unsaved.Status.DeepCopy(), true
}

// shown lets go of what was written as soon as the cache shows it: it is as large as the inventory.
func (m *memory) shown(release *addonsv1alpha1.AddonRelease) {
	m.mu.Lock()
	known := m.releases[types.NamespacedName{Namespace: release.Namespace, Name: release.Name}]
	m.mu.Unlock()
	if known == nil {
		return
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	known.isBehind(release)
}

// isBehind tells whether a release from the cache is older than what was written, which is let go if
// it is not.
func (r *remembered) isBehind(release *addonsv1alpha1.AddonRelease) bool {
	if r.written == nil || r.written.UID != release.UID {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(release.ResourceVersion, r.written.ResourceVersion)
	if err != nil || order >= 0 {
		r.written = nil
		return false
	}
	return true
}
