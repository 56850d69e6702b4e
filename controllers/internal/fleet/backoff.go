package fleet

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// retries are the pauses between attempts to connect.
func (f *Fleet) retries() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 30, Cap: f.options.Timeouts.RetryMax}
}

// TryNow makes the next attempt to connect at once, instead of at the end of its backoff, which goes on
// from there. A cluster that is connected is probed.
func (f *Fleet) TryNow(key types.NamespacedName) {
	f.mu.Lock()
	connection := f.connections[key]
	f.mu.Unlock()
	if connection != nil {
		notify(connection.retryNow)
	}
}

func (c *connection) pause(ctx context.Context, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-c.retryNow:
	case <-timer.C:
	}
}
