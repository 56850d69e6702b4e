package statuses

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Memory holds the [Latest] of each object of a kind. The zero value is empty. Safe for concurrent use.
type Memory[T client.Object] struct {
	mu     sync.Mutex
	latest map[types.NamespacedName]*Latest[T]
}

// Of returns what is held of an object.
func (m *Memory[T]) Of(key types.NamespacedName) *Latest[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.latest == nil {
		m.latest = map[types.NamespacedName]*Latest[T]{}
	}
	if m.latest[key] == nil {
		m.latest[key] = &Latest[T]{}
	}
	return m.latest[key]
}

// Forget an object that is gone.
func (m *Memory[T]) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.latest, key)
}

// CaughtUp lets every event through, and forgets what was written as soon as the cache shows it: a status may be large.
func (m *Memory[T]) CaughtUp() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(updated event.UpdateEvent) bool {
		m.mu.Lock()
		latest := m.latest[client.ObjectKeyFromObject(updated.ObjectNew)]
		m.mu.Unlock()
		if latest != nil {
			latest.shown(updated.ObjectNew.(T))
		}
		return true
	}}
}
