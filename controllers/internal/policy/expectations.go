package policy

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// expectationLifetime is when a write is given up on that the cache never showed, since the
// object was gone before a watch saw it.
const expectationLifetime = 10 * time.Second

// expectations remembers which targets this process wrote and deleted, until the cache has that. A plan
// made on older ones could hand the same slot out twice, or count the same withdrawal.
type expectations struct {
	mutex    sync.Mutex
	byPolicy map[types.NamespacedName]map[string]expectation
	// ended are policies whose finalizer this process removed.
	ended map[types.NamespacedName]ended
}

// ended is a policy that the cache may still have.
type ended struct {
	uid types.UID
	at  time.Time
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

func (w *expectations) record(policy types.NamespacedName, target, resourceVersion string, now time.Time) {
	w.remember(policy, target, expectation{resourceVersion: resourceVersion, at: now})
}

// recordDeletion is awaited until the cache shows the target being deleted, or it is gone.
func (w *expectations) recordDeletion(policy types.NamespacedName, target string, now time.Time) {
	w.remember(policy, target, expectation{at: now})
}

func (w *expectations) remember(policy types.NamespacedName, target string, write expectation) {
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

// unmet is whether the cached targets lack one of the writes. The function returns the target of a name, and whether there
// is one.
func (w *expectations) unmet(policy types.NamespacedName, find func(name string) (client.Object, bool), now time.Time) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	writes := w.byPolicy[policy]
	for name, write := range writes {
		cached, found := find(name)
		shown := found && write.shownBy(cached) || !found && write.isDeletion()
		if shown || now.Sub(write.at) > expectationLifetime {
			delete(writes, name)
		}
	}
	return len(writes) > 0
}

// recordEnd of a policy is awaited until the cache has it no more: events of what went with it would have its finalizer
// removed again.
func (w *expectations) recordEnd(policy types.NamespacedName, uid types.UID, now time.Time) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.ended == nil {
		w.ended = map[types.NamespacedName]ended{}
	}
	w.ended[policy] = ended{uid: uid, at: now}
}

// hasEnded is whether a policy that the cache has is one that this process ended a moment ago.
func (w *expectations) hasEnded(policy types.NamespacedName, uid types.UID, now time.Time) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	end, found := w.ended[policy]
	if found && (end.uid != uid || now.Sub(end.at) > expectationLifetime) {
		delete(w.ended, policy)
		return false
	}
	return found
}

// gone forgets a target that was deleted.
func (w *expectations) gone(policy types.NamespacedName, target string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.byPolicy[policy], target)
}

func (w *expectations) forget(policy types.NamespacedName) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.byPolicy, policy)
	delete(w.ended, policy)
}

// isOlder compares resourceVersions of one resource, which are ordered since Kubernetes 1.35.
func isOlder(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
