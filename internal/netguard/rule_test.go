package netguard

import (
	"net/netip"
	"testing"
)

func TestOnlyAddressesOfTheInternetArePublic(t *testing.T) {
	for text, want := range map[string]bool{
		"1.1.1.1": true, "93.184.216.34": true, "100.63.255.255": true, "100.128.0.0": true, "172.15.0.1": true, "172.32.0.1": true,
		"198.17.0.1": true, "2606:4700::1111": true, "2a00:1450::1": true, "2001:4860::8888": true, "64:ff9b::1.1.1.1": true, "::ffff:1.1.1.1": true,

		"127.0.0.1": false, "127.255.255.254": false, "10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"169.254.169.254": false, "169.254.0.1": false, "100.64.0.1": false, "100.100.100.200": false, "0.0.0.0": false, "0.1.2.3": false,
		"224.0.0.1": false, "239.255.255.255": false, "240.0.0.1": false, "255.255.255.255": false, "192.0.0.192": false, "192.0.2.1": false,
		"198.18.0.1": false, "198.51.100.1": false, "203.0.113.1": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:169.254.169.254": false, "::127.0.0.1": false,
		"64:ff9b::10.0.0.1": false, "64:ff9b::169.254.169.254": false, "64:ff9b:1::1.1.1.1": false,
		"2002:7f00:1::": false, "2001::1": false, "2001:db8::1": false, "3fff::1": false, "100::1": false, "5f00::1": false,
	} {
		if got := Public(netip.AddrPortFrom(netip.MustParseAddr(text), 443)); got != want {
			t.Errorf("%s: public %t, want %t", text, got, want)
		}
	}
}

// lastOf is the last address of a block.
func lastOf(block netip.Prefix) netip.Addr {
	bytes := block.Addr().AsSlice()
	for bit := block.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// Blocks that follow each other cover what there is, so both sides of each border are looked at.
func TestRulesHoldFromTheFirstAddressOfABlockToItsLast(t *testing.T) {
	const neither, private, both = 0, 1, 2
	for _, row := range []struct {
		block   string
		permits int
	}{
		{"0.0.0.0/8", neither},
		{"1.0.0.0/8", both}, {"9.0.0.0/8", both},
		{"10.0.0.0/8", private},
		{"11.0.0.0/8", both}, {"100.63.0.0/16", both},
		{"100.64.0.0/11", private}, {"100.100.100.192/29", private},
		{"100.100.100.200/32", neither},
		{"100.100.100.201/32", private}, {"100.127.0.0/16", private},
		{"100.128.0.0/9", both}, {"126.0.0.0/8", both},
		{"127.0.0.0/8", neither},
		{"128.0.0.0/8", both}, {"168.63.129.15/32", both},
		{"168.63.129.16/32", neither},
		{"168.63.129.17/32", both}, {"169.253.0.0/16", both},
		{"169.254.0.0/16", neither},
		{"169.255.0.0/16", both}, {"172.15.0.0/16", both},
		{"172.16.0.0/12", private},
		{"172.32.0.0/11", both}, {"191.255.255.0/24", both},
		{"192.0.0.0/25", private}, {"192.0.0.191/32", private},
		{"192.0.0.192/32", neither},
		{"192.0.0.193/32", private}, {"192.0.0.255/32", private},
		{"192.0.1.0/24", both},
		{"192.0.2.0/24", private},
		{"192.0.3.0/24", both}, {"192.88.98.0/24", both},
		{"192.88.99.0/24", private},
		{"192.88.100.0/24", both}, {"192.167.0.0/16", both},
		{"192.168.0.0/16", private},
		{"192.169.0.0/16", both}, {"198.17.0.0/16", both},
		{"198.18.0.0/15", private},
		{"198.20.0.0/16", both}, {"198.51.99.0/24", both},
		{"198.51.100.0/24", private},
		{"198.51.101.0/24", both}, {"203.0.112.0/24", both},
		{"203.0.113.0/24", private},
		{"203.0.114.0/24", both}, {"223.0.0.0/8", both},
		{"224.0.0.0/4", neither},
		{"240.0.0.0/5", private}, {"255.255.255.254/32", private},
		{"255.255.255.255/32", neither},

		{"::/96", neither},
		{"::1:0:0/96", private}, {"::fffe:0:0/96", private},
		{"::1:0:0:0/80", private}, {"64:ff9a::/32", private},
		{"64:ff9b:0:0:0:1::/96", private}, {"64:ff9b:2::/48", private}, {"100::/64", private},
		{"1fff::/16", private},
		{"2000::/16", both},
		{"2001::/23", private},
		{"2001:200::/23", both}, {"2001:db7::/32", both},
		{"2001:db8::/32", private},
		{"2001:db9::/32", both},
		{"2002::/16", private},
		{"2003::/16", both}, {"3ffe::/16", both},
		{"3fff::/20", private},
		{"3fff:1000::/20", both}, {"3fff:f000::/20", both},
		{"4000::/3", private}, {"fbff::/16", private},
		{"fc00::/8", private}, {"fd00:42::41/128", private},
		{"fd00:42::42/128", neither},
		{"fd00:42::43/128", private}, {"fd00:100::100:1ff/128", private},
		{"fd00:100::100:200/128", neither},
		{"fd00:100::100:201/128", private}, {"fd00:a9fe:a9fe::/128", private},
		{"fd00:a9fe:a9fe::1/128", neither},
		{"fd00:a9fe:a9fe::2/128", private}, {"fd00:c1::a9fe:a9fd/128", private},
		{"fd00:c1::a9fe:a9fe/128", neither},
		{"fd00:c1::a9fe:a9ff/128", private}, {"fd00:ec1::/32", private},
		{"fd00:ec2::/32", neither},
		{"fd00:ec3::/32", private}, {"fd20:ce::253/128", private},
		{"fd20:ce::254/128", neither},
		{"fd20:ce::255/128", private}, {"fe00::/9", private},
		{"fe80::/10", neither},
		{"fec0::/10", private},
		{"ff00::/8", neither},
	} {
		block := netip.MustParsePrefix(row.block)
		for _, address := range []netip.Addr{block.Masked().Addr(), lastOf(block)} {
			endpoint := netip.AddrPortFrom(address, 443)
			if got, want := Public(endpoint), row.permits == both; got != want {
				t.Errorf("%s of %s: Public %t, want %t", address, block, got, want)
			}
			if got, want := PublicAndPrivate(endpoint), row.permits != neither; got != want {
				t.Errorf("%s of %s: PublicAndPrivate %t, want %t", address, block, got, want)
			}
			if !All(endpoint) {
				t.Errorf("%s of %s: not among all", address, block)
			}
		}
	}
}

func TestEachFormOfAnAddressIsLookedThrough(t *testing.T) {
	for text, want := range map[string]struct{ public, private bool }{
		"::ffff:1.1.1.1": {true, true}, "::ffff:10.0.0.1": {false, true}, "::ffff:127.0.0.1": {}, "::ffff:169.254.169.254": {},
		"::ffff:a9fe:a9fe": {}, "::ffff:100.100.100.200": {}, "::ffff:0.0.0.0": {}, "::ffff:224.0.0.1": {},
		"64:ff9b::1.1.1.1": {true, true}, "64:ff9b::10.0.0.1": {false, true}, "64:ff9b::127.0.0.1": {}, "64:ff9b::169.254.169.254": {},
		"64:ff9b::": {}, "64:ff9b::ffff:ffff": {}, "64:ff9b::a9fe:a9fe": {}, "64:ff9b::100.100.100.200": {}, "64:ff9b::168.63.129.16": {},
		"64:ff9b:1::1.1.1.1": {false, true}, "64:ff9b:1::10.0.0.1": {false, true}, "64:ff9b:1::169.254.169.254": {}, "64:ff9b:1:2:3:4:127.0.0.1": {},
		"64:ff9b:1::": {}, "64:ff9b:1:ffff:ffff:ffff:ffff:ffff": {},
		"fe80::1": {}, "fe80::1%eth0": {}, "::1%lo": {}, "ff02::1%eth0": {}, "fd00:ec2::254%eth0": {},
		"2606:4700::1111%eth0": {true, true}, "fd00::1%eth0": {false, true}, "64:ff9b::169.254.169.254%eth0": {},
	} {
		address := netip.AddrPortFrom(netip.MustParseAddr(text), 443)
		if got := Public(address); got != want.public {
			t.Errorf("%s: Public %t, want %t", text, got, want.public)
		}
		if got := PublicAndPrivate(address); got != want.private {
			t.Errorf("%s: PublicAndPrivate %t, want %t", text, got, want.private)
		}
	}
}

func TestWhatIsNoAddressIsPermittedByNoGuard(t *testing.T) {
	for name, rule := range map[string]Rule{"none": nil, "Public": Public, "PublicAndPrivate": PublicAndPrivate, "All": All} {
		if (Guard{Rule: rule}).Permits(netip.AddrPort{}) {
			t.Errorf("rule %s permits what is no address", name)
		}
	}
}

func TestLoopbackIsPermittedBesideWhatARulePermits(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1": true, "127.255.255.254": true, "::1": true, "::ffff:127.0.0.1": true, "64:ff9b::127.0.0.1": true,
		"10.0.0.1": true, "1.1.1.1": true, "fd00::1": true,
		"0.0.0.0": false, "::": false, "169.254.169.254": false, "fe80::1": false, "fd00:ec2::254": false, "100.100.100.200": false,
	} {
		if got := AndLoopback(PublicAndPrivate)(netip.AddrPortFrom(netip.MustParseAddr(text), 443)); got != want {
			t.Errorf("%s: permitted %t, want %t", text, got, want)
		}
	}
}
