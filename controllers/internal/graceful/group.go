package graceful

import (
	"context"
	"sync"
	"time"
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

// Last is a runnable of a manager that does something once the manager was told to stop and no reconcile of the group is
// under way: that waits for the group's grace period at most. It has until its limit for it.
func (g *Group) Last(limit time.Duration, do func(ctx context.Context) error) *Last {
	return &Last{group: g, limit: limit, do: do}
}

// Last is what a group does at its end.
type Last struct {
	group *Group
	limit time.Duration
	do    func(ctx context.Context) error
}

// Start implements manager.Runnable.
func (l *Last) Start(ctx context.Context) error {
	<-ctx.Done()
	last := context.WithoutCancel(ctx)
	waiting, cancel := context.WithTimeout(last, l.group.Grace)
	defer cancel()
	l.group.awaitIdle(waiting)
	doing, cancel := context.WithTimeout(last, l.limit)
	defer cancel()
	return l.do(doing)
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only who leads has reconciles that end.
func (l *Last) NeedLeaderElection() bool { return true }
