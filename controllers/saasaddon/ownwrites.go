package saasaddon

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
)

// ownWriteLifetime is when a write is given up on that the cache never showed, since the
// object was gone before a watch saw it.
const ownWriteLifetime = 10 * time.Second

// ownWrites remembers which targets this process wrote and deleted, until the cache has that. A plan
// made on older ones could hand the same slot out twice, or count the same withdrawal.
type ownWrites struct {
	mutex    sync.Mutex
	byPolicy map[types.NamespacedName]map[string]ownWrite
}

type ownWrite struct {
	// resourceVersion of what was written; empty for a deletion.
	resourceVersion string
	at              time.Time
}

// shownBy is whether a cached target is at least as new as the write.
func (w ownWrite) shownBy(cached *addonsv1alpha1.AddonRelease) bool {
	if w.isDeletion() {
		return !cached.DeletionTimestamp.IsZero()
	}
	return !isOlder(cached.ResourceVersion, w.resourceVersion)
}

func (w ownWrite) isDeletion() bool { return w.resourceVersion == "" }

func (w *ownWrites) record(policy types.NamespacedName, target, resourceVersion string, now time.Time) {
	w.remember(policy, target, ownWrite{resourceVersion: resourceVersion, at: now})
}

// recordDeletion is awaited until the cache shows the target being deleted, or it is gone.
func (w *ownWrites) recordDeletion(policy types.NamespacedName, target string, now time.Time) {
	w.remember(policy, target, ownWrite{at: now})
}

func (w *ownWrites) remember(policy types.NamespacedName, target string, write ownWrite) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.byPolicy == nil {
		w.byPolicy = map[types.NamespacedName]map[string]ownWrite{}
	}
	if w.byPolicy[policy] == nil {
		w.byPolicy[policy] = map[string]ownWrite{}
	}
	w.byPolicy[policy][target] = write
}

// ahead is whether the cached targets lack one of the writes.
func (w *ownWrites) ahead(policy types.NamespacedName, cached []addonsv1alpha1.AddonRelease, now time.Time) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	writes := w.byPolicy[policy]
	found := sets.New[string]()
	for i := range cached {
		found.Insert(cached[i].Name)
		write, waiting := writes[cached[i].Name]
		if waiting && write.shownBy(&cached[i]) {
			delete(writes, cached[i].Name)
		}
	}
	for target, write := range writes {
		gone := write.isDeletion() && !found.Has(target)
		if gone || now.Sub(write.at) > ownWriteLifetime {
			delete(writes, target)
		}
	}
	return len(writes) > 0
}

// gone forgets a target that was deleted.
func (w *ownWrites) gone(policy types.NamespacedName, target string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.byPolicy[policy], target)
}

func (w *ownWrites) forget(policy types.NamespacedName) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.byPolicy, policy)
}

// isOlder compares resourceVersions of one resource, which are ordered since Kubernetes 1.35.
func isOlder(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
