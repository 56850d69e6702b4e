package registry

import (
	"context"
	"sync"
)

// gate holds requests up.
type gate struct {
	mu sync.Mutex
	// open is closed when the gate opens. Nil while it is open.
	open chan struct{}
}

// Stall lets all requests from now on wait for an answer, as a registry does whose backend hangs, until
// resume is called, the client gives up, or the server is closed. What is being answered goes on.
func (s *Server) Stall() (resume func()) {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	if s.gate.open == nil {
		s.gate.open = make(chan struct{})
	}
	return s.gate.resume
}

func (g *gate) resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		close(g.open)
		g.open = nil
	}
}

// pass waits until the gate is open.
func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if open == nil {
		return nil
	}
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
