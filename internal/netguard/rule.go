package netguard

import (
	"net/netip"
	"slices"
)

// Rule is whether an address may be connected to.
type Rule func(netip.AddrPort) bool

// Public permits the addresses of the Internet.
func Public(address netip.AddrPort) bool { return isPublic(address.Addr()) && !isNear(address.Addr()) }

// PublicAndPrivate permits the addresses of the Internet and those of private networks, and refuses those of the machine
// that the manager is on, of the link that the machine is on, and of what a cloud tells its machines.
func PublicAndPrivate(address netip.AddrPort) bool { return !isNear(address.Addr()) }

// AndLoopback permits the addresses of the machine that the manager is on beside what another rule permits.
func AndLoopback(rule Rule) Rule {
	return func(address netip.AddrPort) bool {
		return lookThrough(address.Addr(), translated, translatedLocally).IsLoopback() || rule(address)
	}
}

// All permits every address.
func All(netip.AddrPort) bool { return true }

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
	// translatedLocally holds an IPv4 address in its last four bytes too, where a network translates for itself
	// (RFC 8215), as far as that uses prefixes of 96 bits.
	translatedLocally = netip.MustParsePrefix("64:ff9b:1::/48")
)

// near are the blocks that lead to the machine, to its link, and to what a cloud tells its machines.
var near = prefixes(
	"0.0.0.0/8",          // this host, RFC 1122
	"127.0.0.0/8",        // loopback, RFC 1122
	"169.254.0.0/16",     // link-local, RFC 3927, with the metadata service of most clouds at 169.254.169.254
	"224.0.0.0/4",        // multicast, RFC 5771
	"255.255.255.255/32", // limited broadcast, RFC 919

	"::/96",     // unspecified, loopback, and addresses that are compatible with IPv4, RFC 4291
	"fe80::/10", // link-local, RFC 4291
	"ff00::/8",  // multicast, RFC 4291

	// Metadata and agents of clouds that are not link-local, as the clouds document them.
	"100.100.100.200/32",     // Alibaba Cloud
	"168.63.129.16/32",       // Azure: the platform, which gives machines their settings
	"192.0.0.192/32",         // Oracle Cloud Classic
	"fd00:42::42/128",        // Scaleway
	"fd00:100::100:200/128",  // Alibaba Cloud
	"fd00:a9fe:a9fe::1/128",  // Akamai
	"fd00:c1::a9fe:a9fe/128", // Oracle Cloud
	"fd00:ec2::/32",          // AWS: metadata at fd00:ec2::254, and identities of pods at fd00:ec2::23
	"fd20:ce::254/128",       // Google Cloud
)

func prefixes(texts ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		parsed = append(parsed, netip.MustParsePrefix(text))
	}
	return parsed
}

func isIn(blocks []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(blocks, func(block netip.Prefix) bool { return block.Contains(address) })
}

// isPublic is whether an address is one of the Internet.
func isPublic(address netip.Addr) bool {
	address = lookThrough(address, translated)
	if address.Is4() {
		return !isIn(notPublic, address)
	}
	return globalUnicast.Contains(address) && !isIn(notGlobal, address)
}

// isNear is whether an address leads to the machine that the manager is on, or to what is special to its place.
func isNear(address netip.Addr) bool {
	return !address.IsValid() || isIn(near, lookThrough(address, translated, translatedLocally))
}

// lookThrough returns the IPv4 address that one of IPv6 stands for, if it is mapped or in a block of translated ones.
// There is no zone in what it returns: a zone says which link an address is on, and nothing of where it leads.
func lookThrough(address netip.Addr, translated ...netip.Prefix) netip.Addr {
	address = address.Unmap().WithZone("")
	if !isIn(translated, address) {
		return address
	}
	bytes := address.As16()
	return netip.AddrFrom4([4]byte(bytes[12:]))
}
