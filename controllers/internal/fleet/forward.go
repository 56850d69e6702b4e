package fleet

import (
	"context"
	"net"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/portforward"
)

// ForwardToPod opens a connection to a port of a pod, by way of its subresource portforward. What is on its other end is the
// cluster's word.
func (c *Cluster) ForwardToPod(ctx context.Context, namespace, pod string, port int32) (net.Conn, error) {
	return portforward.Open(ctx, c.transport, c.config.UserAgent, namespace, pod, port)
}
