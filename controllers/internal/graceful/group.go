package graceful

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Group is reconcilers that end together.
type Group struct {
	// Grace is how long their reconciles go on after their context has ended.
	Grace time.Duration

	mu sync.Mutex
	// running is how many reconciles are under way; idle is closed when none is any more, nil while nobody waits for that.
	running int
	idle    chan struct{}
}

func (g *Group) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running++
}

func (g *Group) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running--; g.running == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// awaitIdle returns when no reconcile is under way, or with the context.
func (g *Group) awaitIdle(ctx context.Context) {
	g.mu.Lock()
	if g.running == 0 {
		g.mu.Unlock()
		return
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// Last returns a runnable that waits until the manager is told to stop and no reconcile of the group is under way, for the grace
// period at most. Then it calls do, which may take until limit. It runs where reconciles do: in the manager that leads.
func (g *Group) Last(limit time.Duration, do func(ctx context.Context) error) manager.Runnable {
	return manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		last := context.WithoutCancel(ctx)
		waiting, cancel := context.WithTimeout(last, g.Grace)
		defer cancel()
		g.awaitIdle(waiting)
		doing, cancel := context.WithTimeout(last, limit)
		defer cancel()
		return do(doing)
	})
}
