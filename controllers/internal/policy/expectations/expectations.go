// Package expectations remembers what this process wrote until its cache has that: a plan made on older targets could hand the
// same slot out twice, or count the same withdrawal.
package expectations

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lifetime is when a write is given up on that the cache never showed, since the
// object was gone before a watch saw it.
const Lifetime = 10 * time.Second

// Writes are those of the targets of all policies of a kind. The zero value has none. It is safe for concurrent use.
type Writes struct {
	mutex    sync.Mutex
	byPolicy map[types.NamespacedName]map[string]write
	// ended are policies whose finalizer this process removed.
	ended map[types.NamespacedName]ended
}

// ended is a policy that the cache may still have.
type ended struct {
	uid types.UID
	at  time.Time
}

type write struct {
	// resourceVersion of what was written; empty for a deletion.
	resourceVersion string
	at              time.Time
}

// shownBy is whether a cached target is at least as new as the write.
func (w write) shownBy(cached client.Object) bool {
	if w.isDeletion() {
		return !cached.GetDeletionTimestamp().IsZero()
	}
	return !isOlder(cached.GetResourceVersion(), w.resourceVersion)
}

func (w write) isDeletion() bool { return w.resourceVersion == "" }

// Record the resourceVersion that a target got.
func (w *Writes) Record(policy types.NamespacedName, target, resourceVersion string, now time.Time) {
	w.remember(policy, target, write{resourceVersion: resourceVersion, at: now})
}

// RecordDeletion is awaited until the cache shows the target being deleted, or it is gone.
func (w *Writes) RecordDeletion(policy types.NamespacedName, target string, now time.Time) {
	w.remember(policy, target, write{at: now})
}

func (w *Writes) remember(policy types.NamespacedName, target string, wrote write) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.byPolicy == nil {
		w.byPolicy = map[types.NamespacedName]map[string]write{}
	}
	if w.byPolicy[policy] == nil {
		w.byPolicy[policy] = map[string]write{}
	}
	w.byPolicy[policy][target] = wrote
}

// Unmet is whether the cached targets lack one of the writes. The function returns the target of a name, and whether there
// is one.
func (w *Writes) Unmet(policy types.NamespacedName, find func(name string) (client.Object, bool), now time.Time) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	writes := w.byPolicy[policy]
	for name, wrote := range writes {
		cached, found := find(name)
		shown := found && wrote.shownBy(cached) || !found && wrote.isDeletion()
		if shown || now.Sub(wrote.at) > Lifetime {
			delete(writes, name)
		}
	}
	return len(writes) > 0
}

// RecordEnd of a policy is awaited until the cache has it no more: events of what went with it would have its finalizer
// removed again.
func (w *Writes) RecordEnd(policy types.NamespacedName, uid types.UID, now time.Time) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.ended == nil {
		w.ended = map[types.NamespacedName]ended{}
	}
	w.ended[policy] = ended{uid: uid, at: now}
}

// HasEnded is whether a policy that the cache has is one that this process ended a moment ago.
func (w *Writes) HasEnded(policy types.NamespacedName, uid types.UID, now time.Time) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	end, found := w.ended[policy]
	if found && (end.uid != uid || now.Sub(end.at) > Lifetime) {
		delete(w.ended, policy)
		return false
	}
	return found
}

// Gone forgets a target that is gone.
func (w *Writes) Gone(policy types.NamespacedName, target string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.byPolicy[policy], target)
}

// Forget a policy that is gone.
func (w *Writes) Forget(policy types.NamespacedName) {
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
