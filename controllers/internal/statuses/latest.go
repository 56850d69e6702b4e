package statuses

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Latest is an object as the last update of its status returned it, until the cache shows it. The zero value holds none.
type Latest[T client.Object] struct {
	mu sync.Mutex
	// written has the object; empty for none.
	written []T
}

// Wrote keeps what an update returned.
func (l *Latest[T]) Wrote(object T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written = []T{clone(object)}
}

// Of returns the object that was written last in place of an older one from the cache.
func (l *Latest[T]) Of(cached T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isBehind(cached) {
		return clone(l.written[0])
	}
	return cached
}

// shown forgets what was written if the cache shows it.
func (l *Latest[T]) shown(cached T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isBehind(cached)
}

// isBehind tells whether an object from the cache is older than what was written, which is forgotten if it is not.
func (l *Latest[T]) isBehind(cached T) bool {
	if len(l.written) == 0 || l.written[0].GetUID() != cached.GetUID() {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), l.written[0].GetResourceVersion())
	if err != nil || order >= 0 {
		l.written = nil
		return false
	}
	return true
}

// clone makes a deep copy.
func clone[T client.Object](object T) T { return object.DeepCopyObject().(T) }
