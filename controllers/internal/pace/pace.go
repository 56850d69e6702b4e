// Package pace limits how often reconciles follow changes that people make at will, such as those of a cluster's labels. The first
// change is acted on at once. Further ones wait until the interval has passed, and are acted on together, so the last state is
// never missed. The package is pure: its callers tell it the time. It knows no kind.
package pace

import (
	"sync"
	"time"
)

// Interval is the least time between two reconciles because of what people change on one TenantCluster.
const Interval = 5 * time.Second

// Pace of the changes of many keys. The zero value holds nothing up. It may be used by several goroutines.
type Pace[K comparable] struct {
	// Interval between two actions for one key; 0 for none.
	Interval time.Duration

	mu sync.Mutex
	// slots are when the latest action for a key is due, or was.
	slots map[K]time.Time
}

// Wait returns after how long a change of a key that happens now is to be acted on. All changes up to then have the same
// time.
func (p *Pace[K]) Wait(key K, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Interval == 0 {
		return 0
	}
	slot, known := p.slots[key]
	switch {
	case !known, !now.Before(slot.Add(p.Interval)), now.Before(slot.Add(-p.Interval)): // The last: the clock was set back.
		slot = now
	case !now.Before(slot):
		slot = slot.Add(p.Interval)
	}
	if p.slots == nil {
		p.slots = map[K]time.Time{}
	}
	p.slots[key] = slot
	return slot.Sub(now)
}

// Forget a key that is gone.
func (p *Pace[K]) Forget(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.slots, key)
}
