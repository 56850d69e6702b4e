package netguard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// DefaultTimeout bounds one connection of a Guard that has no Timeout, of which a name with many addresses may take
// several.
const DefaultTimeout = 15 * time.Second

// Guard connects to the addresses that it permits. The zero Guard permits public ones. It is safe for concurrent use.
type Guard struct {
	// Rule that permits addresses; if nil, Public.
	Rule Rule
	// Denied are addresses that are refused at every port, and DeniedPorts those that are refused at one, whatever the
	// rule says.
	Denied      []netip.Addr
	DeniedPorts []netip.AddrPort
	// Timeout of one connection; if zero, DefaultTimeout.
	Timeout time.Duration

	// resolver of names; if nil, net.DefaultResolver.
	resolver *net.Resolver
}

// RefusedError is an address that a Guard does not permit.
type RefusedError struct {
	// Host as it was asked for, without its port.
	Host string
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%q has an address that is not connected to", e.Host)
}

// Permits is whether an address may be connected to.
func (g Guard) Permits(address netip.AddrPort) bool {
	rule := g.Rule
	if rule == nil {
		rule = Public
	}
	return address.IsValid() && rule(address) && !g.denies(address)
}

// denies compares what addresses stand for: an address has several forms.
func (g Guard) denies(address netip.AddrPort) bool {
	stands := func(one netip.Addr) netip.Addr { return lookThrough(one, translated, translatedLocally) }
	host := stands(address.Addr())
	return slices.ContainsFunc(g.Denied, func(denied netip.Addr) bool { return stands(denied) == host }) ||
		slices.ContainsFunc(g.DeniedPorts, func(denied netip.AddrPort) bool {
			return stands(denied.Addr()) == host && denied.Port() == address.Port()
		})
}

// DialContext connects to a host and port, as the DialContext of a net.Dialer does. It returns a RefusedError where an
// address of the host is not permitted and no other one is there.
func (g Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(address)
	dialer := net.Dialer{Timeout: cmp.Or(g.Timeout, DefaultTimeout), Control: g.Control(host), Resolver: g.resolver}
	conn, err := dialer.DialContext(ctx, network, address)
	var refused *RefusedError
	if errors.As(err, &refused) {
		return nil, refused // Without what package net adds to it, which is the address.
	}
	return conn, err
}

// Control returns the Control of a net.Dialer that connects to a host: it refuses before the first packet. Package net
// wraps the RefusedError in one that names the address.
func (g Guard) Control(host string) func(network, resolved string, _ syscall.RawConn) error {
	return func(_, resolved string, _ syscall.RawConn) error {
		address, err := netip.ParseAddrPort(resolved)
		if err != nil || !g.Permits(address) {
			return &RefusedError{Host: host}
		}
		return nil
	}
}
