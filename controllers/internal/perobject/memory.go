// Package perobject remembers something of each object of a kind, by its name, until the object is gone.
package perobject

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Memory holds a V of each object. The zero value is empty. It is safe for concurrent use; what it holds is as safe as a V is.
type Memory[V any] struct {
	mu   sync.Mutex
	held map[types.NamespacedName]*V
}

// Of returns what is held of an object, which is a zero V at first.
func (m *Memory[V]) Of(key types.NamespacedName) *V {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held == nil {
		m.held = map[types.NamespacedName]*V{}
	}
	if m.held[key] == nil {
		m.held[key] = new(V)
	}
	return m.held[key]
}

// Find returns what is held of an object; nil if nothing is.
func (m *Memory[V]) Find(key types.NamespacedName) *V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held[key]
}

// Where returns the objects of which something is held that matches.
func (m *Memory[V]) Where(matches func(*V) bool) (keys []types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, held := range m.held {
		if matches(held) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Forget an object that is gone.
func (m *Memory[V]) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.held, key)
}
