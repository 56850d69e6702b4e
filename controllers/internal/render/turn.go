package render

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/daytwo-dev/daytwo/controllers/internal/fairshare"
)

// shares of tenants in the workers: a rendering that never ends keeps a processor busy.
func (o Options) shares() fairshare.Limits {
	limits := fairshare.LimitsOf(o.Workers)
	limits.PerTenant = min(limits.PerTenant, max(1, runtime.GOMAXPROCS(0)/2))
	return limits
}

// enter is whether the pool is open, which Close waits for then.
func (p *Pool) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open.Err() != nil {
		return false
	}
	p.callers.Add(1)
	return true
}

// turn waits until a worker may render for a tenant.
func (p *Pool) turn(ctx context.Context, tenant string) (release func(), err error) {
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(p.open, func() { stop(ErrClosed) })()
	release, err = p.turns.Take(waiting, fairshare.Claim{Tenant: tenant})
	if err != nil && !errors.Is(err, ErrClosed) {
		err = fmt.Errorf("wait for a render worker: %w", err)
	}
	return release, err
}
