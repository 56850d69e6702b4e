package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
)

// Confirm asks the cluster for its identity once more, over the connection that its requests take. A proxy that
// ends TLS may lead a connection that stays open to another cluster, which no check of new connections notices.
//
// Call it before what rests on no UID that this cluster is known to have: before objects are created, before a
// list is believed, before a write that takes its UID from a read, and before the answer to a write (a conflict, or
// a 404) is taken for news of an object. The answer is of after the call; calls at the same time share one request.
//
// If another cluster answers, the error is one for which IsOtherCluster is true: the connection is dropped with
// everything that was seen through it, and this Cluster sends nothing any more. Any other error leaves open who is
// there: do not write then. The request ends after Timeouts.Connect at the latest.
func (c *Cluster) Confirm(ctx context.Context) error {
	asked := c.confirmations.join(c.confirm)
	select {
	case <-asked.done:
		return asked.err
	case <-ctx.Done():
		return fmt.Errorf("confirm the cluster's identity: %w", ctx.Err())
	}
}

// IsOtherCluster tells that a connection led to another cluster than the one that is expected there. Nothing of
// what was asked of it may be believed.
func IsOtherCluster(err error) bool { return errors.Is(err, transport.ErrOtherCluster) }

func (c *Cluster) confirm() error {
	ctx, cancel := context.WithTimeout(c.ctx, c.connection.fleet.options.Timeouts.Connect)
	defer cancel()
	identity, err := transport.ReadIdentity(ctx, c.config.Host, c.requests.Transport)
	switch {
	case err == nil && identity == c.ID:
		return nil
	case err == nil || IsOtherCluster(err):
		c.cancel(transport.ErrOtherCluster) // The connection notices, and drops itself.
	case c.ctx.Err() == nil:
		notify(c.connection.suspicious)
	}
	if IsOtherCluster(context.Cause(c.ctx)) {
		return transport.ErrOtherCluster
	}
	return fmt.Errorf("confirm the cluster's identity: %w", err)
}

// mismatch ends when a request to the cluster that is handed out found another one in its place. Nothing else closes
// that cluster while supervise waits.
func (c *connection) mismatch() <-chan struct{} {
	cluster := c.current()
	if cluster == nil {
		return nil
	}
	return cluster.ctx.Done()
}

// confirmations lets callers share a request, as long as that begins after each of the calls.
type confirmations struct {
	mu sync.Mutex
	// next has not begun; last has, and may have ended.
	next, last *confirmation
}

type confirmation struct {
	done chan struct{}
	err  error
}

// join returns a confirmation that begins after the call. One runs at a time.
func (c *confirmations) join(run func() error) *confirmation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = &confirmation{done: make(chan struct{})}
		go c.run(c.next, c.last, run)
	}
	return c.next
}

func (c *confirmations) run(one, previous *confirmation, run func() error) {
	if previous != nil {
		<-previous.done
	}
	c.mu.Lock()
	c.last, c.next = one, nil
	c.mu.Unlock()
	one.err = run()
	close(one.done)
}
