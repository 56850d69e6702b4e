package render

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/cache"
)

const (
	// tolerated is the overuse of a tenant whose renderings still come when it is their turn.
	tolerated = 5 * time.Second
	// mostOveruse is the most that counts, and paidBack what is forgotten in each minute: renderings come last for ten minutes at most.
	// A controller tries a failed rendering again after five minutes at most.
	mostOveruse = 15 * time.Second
	paidBack    = time.Second
)

// overuse is the processor time that the renderings of each tenant took lately beyond courtesy. It is safe for concurrent use.
type overuse struct {
	mu sync.Mutex
	// left has a *rate.Limiter for each tenant: the milliseconds that may still be added.
	left *cache.Expiring
}

func newOveruse() *overuse { return &overuse{left: cache.NewExpiring()} }

// add what one order of a tenant took beyond courtesy.
func (o *overuse) add(tenant string, excess time.Duration, now time.Time) {
	if excess < time.Millisecond {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	left := o.of(tenant)
	left.AllowN(now, int(min(float64(excess.Milliseconds()), left.TokensAt(now))))
	o.left.Set(tenant, left, mostOveruse/paidBack*time.Minute)
}

// isTooMuch is whether the renderings of a tenant are to come last.
func (o *overuse) isTooMuch(tenant string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of(tenant).TokensAt(now) < float64((mostOveruse - tolerated).Milliseconds())
}

func (o *overuse) of(tenant string) *rate.Limiter {
	if held, found := o.left.Get(tenant); found {
		return held.(*rate.Limiter)
	}
	return rate.NewLimiter(rate.Every(time.Minute)*rate.Limit(paidBack.Milliseconds()), int(mostOveruse.Milliseconds()))
}
