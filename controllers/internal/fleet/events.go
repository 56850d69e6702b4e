package fleet

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
)

// Subscriber hears of changes. Its functions must not block; either may be nil.
type Subscriber struct {
	// Cluster is called when a connection's state changed, or whether it may be worked with.
	Cluster func(key types.NamespacedName)
	// Object is called for the owner of an object that drifted, or whose health changed.
	Object func(owner tracker.Owner, drifted bool)
}

type broadcaster struct {
	mu          sync.RWMutex
	subscribers []Subscriber
}

// Subscribe adds a subscriber for good. Call it before the first Connect.
func (f *Fleet) Subscribe(subscriber Subscriber) {
	f.events.mu.Lock()
	defer f.events.mu.Unlock()
	f.events.subscribers = append(f.events.subscribers, subscriber)
}

func (b *broadcaster) cluster(key types.NamespacedName) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, subscriber := range b.subscribers {
		if subscriber.Cluster != nil {
			subscriber.Cluster(key)
		}
	}
}

func (b *broadcaster) object(owner tracker.Owner, drifted bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, subscriber := range b.subscribers {
		if subscriber.Object != nil {
			subscriber.Object(owner, drifted)
		}
	}
}
