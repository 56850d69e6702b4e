package charts

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// notPublic are the blocks of IPv4 that are not reachable globally (IANA's special-purpose address
// registry, RFC 6890 and its successors), multicast, and what is reserved.
var notPublic = prefixes(
	"0.0.0.0/8",       // this host, RFC 1122
	"10.0.0.0/8",      // private, RFC 1918
	"100.64.0.0/10",   // carrier-grade NAT, RFC 6598
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local, with the metadata services of clouds
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // protocol assignments, RFC 6890
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // former 6to4 relays, RFC 7526
	"192.168.0.0/16",  // private
	"198.18.0.0/15",   // benchmarks, RFC 2544
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, and broadcast
)

// Of IPv6, global unicast is all there is on the Internet so far; some blocks in it are not global.
var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	notGlobal     = prefixes(
		"2001::/23",     // protocol assignments: Teredo, which holds an IPv4 address, ORCHID, benchmarks
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4, which holds an IPv4 address
		"3fff::/20",     // documentation, RFC 9637
	)
	// translated holds an IPv4 address in its last four bytes: how a host with IPv6 alone sees the
	// Internet of IPv4 (NAT64, RFC 6052).
	translated = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		parsed = append(parsed, netip.MustParsePrefix(text))
	}
	return parsed
}

// isPublic is whether an address leads to the Internet, and to nothing near the manager.
func isPublic(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	if translated.Contains(address) {
		bytes := address.As16()
		address = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	contains := func(block netip.Prefix) bool { return block.Contains(address) }
	if address.Is4() {
		return !slices.ContainsFunc(notPublic, contains)
	}
	return globalUnicast.Contains(address) && !slices.ContainsFunc(notGlobal, contains)
}

// dialer connects to the addresses that permits lets pass. It looks at the address that is really
// connected to, so a name that resolves to another one from one moment to the next gains nothing.
type dialer struct {
	permits func(netip.AddrPort) bool
}

// connectTime bounds one connection, of which a name with many addresses may take several.
const connectTime = 15 * time.Second

func (d dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(address)
	plain := net.Dialer{
		Timeout: connectTime,
		Control: func(_, resolved string, _ syscall.RawConn) error { return d.control(host, resolved) },
	}
	return plain.DialContext(ctx, network, address)
}

// control refuses before the first packet. The message leaves the address out: it would tell who
// may not know what the manager's DNS server knows.
func (d dialer) control(host, resolved string) error {
	address, err := netip.ParseAddrPort(resolved)
	if err != nil || !d.permits(address) {
		return refused("%s has an address that is not on the Internet (private, loopback, link-local or reserved): "+
			"use a repository with a public address, or ask the provider to run Daytwo with private sources allowed", quote(host))
	}
	return nil
}

func permitsPublic(address netip.AddrPort) bool { return isPublic(address.Addr()) }

func permitsAll(netip.AddrPort) bool { return true }
