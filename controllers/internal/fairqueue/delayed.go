package fairqueue

import (
	"time"

	"k8s.io/utils/third_party/forked/golang/btree"

	"github.com/daytwo-dev/daytwo/controllers/internal/fairshare"
)

// delayed are the keys that are to come at some time.
type delayed[K comparable] struct {
	keys map[K]*delayedKey[K]
	// order of the keys, the earliest first.
	order *btree.BTree[*delayedKey[K]]
	added uint64
}

type delayedKey[K comparable] struct {
	key      K
	claim    fairshare.Claim
	at       time.Time
	sequence uint64
}

func newDelayed[K comparable]() delayed[K] {
	return delayed[K]{keys: map[K]*delayedKey[K]{}, order: btree.New(32, func(a, b *delayedKey[K]) bool {
		return a.at.Before(b.at) || a.at.Equal(b.at) && a.sequence < b.sequence
	})}
}

// put has a key come at a time, or when it was to come already, if that is earlier.
func (d *delayed[K]) put(key K, claim fairshare.Claim, at time.Time) {
	d.added++
	next := &delayedKey[K]{key: key, claim: claim, at: at, sequence: d.added}
	if before := d.take(key); before != nil {
		next.claim = claim.Merged(before.claim)
		if before.at.Before(at) {
			next.at, next.sequence = before.at, before.sequence
		}
	}
	d.keys[key] = next
	d.order.ReplaceOrInsert(next)
}

// take has a key come no longer, and returns how it was to come; nil if it was not.
func (d *delayed[K]) take(key K) *delayedKey[K] {
	found := d.keys[key]
	if found != nil {
		delete(d.keys, key)
		d.order.Delete(found)
	}
	return found
}

// due takes the keys whose time has come, the earliest first.
func (d *delayed[K]) due(now time.Time) (keys []*delayedKey[K]) {
	for {
		first, some := d.order.Min()
		if !some || first.at.After(now) {
			return keys
		}
		keys = append(keys, d.take(first.key))
	}
}

// next is when the next key is to come; zero if none is.
func (d *delayed[K]) next() time.Time {
	if first, some := d.order.Min(); some {
		return first.at
	}
	return time.Time{}
}
