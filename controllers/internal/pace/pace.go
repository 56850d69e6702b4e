// Package pace spaces what is done because somebody changes something as often as they like, such as the labels of a
// cluster. The first change is acted on at once, and those that come soon after it together, once the interval has passed:
// the last state is never missed. It is pure, apart from the clock that it is given, and knows no kind.
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
