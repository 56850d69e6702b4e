package charts

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/daytwo-dev/daytwo/internal/netguard"
)

// connectTime bounds one connection, of which a name with many addresses may take several.
const connectTime = 15 * time.Second

// newGuard permits what repositories may have as their address.
func newGuard(options Options) netguard.Guard {
	guard := netguard.Guard{Rule: netguard.Public, Timeout: connectTime}
	if options.AllowPrivateSources {
		guard.Rule = netguard.All
	}
	return guard
}

// dial connects to an address that the guard permits.
func dial(ctx context.Context, guard netguard.Guard, network, address string) (net.Conn, error) {
	conn, err := guard.DialContext(ctx, network, address)
	var refusal *netguard.RefusedError
	if errors.As(err, &refusal) {
		return nil, refused("%s has an address that is not on the Internet (private, loopback, link-local or reserved): "+
			"use a repository with a public address, or ask the provider to run Daytwo with private sources allowed", quote(refusal.Host))
	}
	return conn, err
}
