package policy

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// expectationLifetime is when a write is given up on that the cache never showed, since the
// object was gone before a watch saw it.
const expectationLifetime = 10 * time.Second

// expectations remembers which targets this process wrote and deleted, until the cache has that. A plan
// made on older ones could hand the same slot out twice, or count the same withdrawal.
type expectations[T client.Object] struct {
	mutex    sync.Mutex
	byPolicy map[types.NamespacedName]map[string]expectation
}

type expectation struct {
	// resourceVersion of what was written; empty for a deletion.
	resourceVersion string
	at              time.Time
}

// shownBy is whether a cached target is at least as new as the write.
func (w expectation) shownBy(cached client.Object) bool {
	if w.isDeletion() {
		return !cached.GetDeletionTimestamp().IsZero()
	}
	return !isOlder(cached.GetResourceVersion(), w.resourceVersion)
}

func (w expectation) isDeletion() bool { return w.resourceVersion == "" }

func (w *expectations[T]) record(policy types.NamespacedName, target, resourceVersion string, now time.Time) {
	w.remember(policy, target, expectation{resourceVersion: resourceVersion, at: now})
}

// recordDeletion is awaited until the cache shows the target being deleted, or it is gone.
func (w *expectations[T]) recordDeletion(policy types.NamespacedName, target string, now time.Time) {
	w.remember(policy, target, expectation{at: now})
}

func (w *expectations[T]) remember(policy types.NamespacedName, target string, write expectation) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.byPolicy == nil {
		w.byPolicy = map[types.NamespacedName]map[string]expectation{}
	}
	if w.byPolicy[policy] == nil {
		w.byPolicy[policy] = map[string]expectation{}
	}
	w.byPolicy[policy][target] = write
}

// unmet is whether the cached targets lack one of the writes.
func (w *expectations[T]) unmet(policy types.NamespacedName, cached []T, now time.Time) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	writes := w.byPolicy[policy]
	if len(writes) == 0 {
		return false
	}
	found := sets.New[string]()
	for _, target := range cached {
		found.Insert(target.GetName())
		write, waiting := writes[target.GetName()]
		if waiting && write.shownBy(target) {
			delete(writes, target.GetName())
		}
	}
	for target, write := range writes {
		gone := write.isDeletion() && !found.Has(target)
		if gone || now.Sub(write.at) > expectationLifetime {
			delete(writes, target)
		}
	}
	return len(writes) > 0
}

// gone forgets a target that was deleted.
func (w *expectations[T]) gone(policy types.NamespacedName, target string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.byPolicy[policy], target)
}

func (w *expectations[T]) forget(policy types.NamespacedName) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.byPolicy, policy)
}

// isOlder compares resourceVersions of one resource, which are ordered since Kubernetes 1.35.
func isOlder(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
