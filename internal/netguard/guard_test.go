package netguard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/daytwo-dev/daytwo/internal/listenertest"
)

// resolving is a resolver whose DNS server answers for every name, and not always the same: with the first address to the
// first question for one of IPv4, with the second to the next, and with the last from then on.
func resolving(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		packet := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(packet)
			if err != nil {
				return
			}
			var message dnsmessage.Message
			if message.Unpack(packet[:n]) != nil || len(message.Questions) != 1 {
				continue
			}
			asked := message.Questions[0]
			answer := dnsmessage.Message{Header: dnsmessage.Header{ID: message.ID, Response: true}, Questions: message.Questions}
			if asked.Type == dnsmessage.TypeA {
				answer.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: asked.Name, Type: asked.Type, Class: asked.Class},
					Body:   &dnsmessage.AResource{A: netip.MustParseAddr(addresses[0]).As4()},
				}}
				addresses = addresses[min(1, len(addresses)-1):]
			}
			if reply, err := answer.Pack(); err == nil {
				_, _ = server.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// isRefused fails the test unless err is a refusal that names the host, and no address that it was not asked for.
func isRefused(t *testing.T, err error, host string) {
	t.Helper()
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Host != host {
		t.Fatalf("got %v, want that %s is refused", err, host)
	}
	if said := strings.ReplaceAll(err.Error(), host, ""); strings.Contains(said, "127.0.0.1") || strings.Contains(said, "::1") {
		t.Errorf("the refusal tells the address: %v", err)
	}
}

func TestAddressIsCheckedAfterTheNameIsResolved(t *testing.T) {
	port, connections := listenertest.Count(t)
	guard := Guard{Rule: Public, resolver: resolving(t, "93.184.216.34", "127.0.0.1")}
	found, err := guard.resolver.LookupNetIP(t.Context(), "ip4", "rebound.test")
	if err != nil || len(found) != 1 || !guard.Permits(netip.AddrPortFrom(found[0], 443)) {
		t.Fatalf("a check beforehand finds %v (%v), want an address that is permitted", found, err)
	}
	_, err = guard.DialContext(t.Context(), "tcp", "rebound.test:"+port)
	isRefused(t, err, "rebound.test")
	if connections.Load() != 0 {
		t.Error("a refused address was connected to")
	}

	guard.Rule = All
	conn, err := guard.DialContext(t.Context(), "tcp", "rebound.test:"+port)
	if err != nil {
		t.Fatalf("the same address, where it is permitted: %v", err)
	}
	_ = conn.Close()
}

func TestRefusalNamesTheHostAsItWasAskedFor(t *testing.T) {
	port, connections := listenertest.Count(t)
	for _, host := range []string{"localhost", "127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0", "::1"} {
		for _, rule := range []Rule{nil, Public, PublicAndPrivate} {
			_, err := Guard{Rule: rule}.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
			isRefused(t, err, host)
		}
	}
	if connections.Load() != 0 {
		t.Error("a refused address was connected to")
	}
}

func TestDeniedAddressesAreRefusedWhateverTheRuleSays(t *testing.T) {
	server := netip.MustParseAddr("198.51.100.7")
	for name, row := range map[string]struct {
		guard   Guard
		address string
		want    bool
	}{
		"no other address":              {Guard{Denied: []netip.Addr{server}}, "198.51.100.8:6443", true},
		"at every port":                 {Guard{Denied: []netip.Addr{server}}, "198.51.100.7:80", false},
		"mapped":                        {Guard{Denied: []netip.Addr{server}}, "[::ffff:198.51.100.7]:6443", false},
		"translated":                    {Guard{Denied: []netip.Addr{server}}, "[64:ff9b::198.51.100.7]:6443", false},
		"denied in its mapped form":     {Guard{Denied: []netip.Addr{netip.MustParseAddr("::ffff:198.51.100.7")}}, "198.51.100.7:6443", false},
		"at its port":                   {Guard{DeniedPorts: []netip.AddrPort{netip.AddrPortFrom(server, 6443)}}, "198.51.100.7:6443", false},
		"mapped, at its port":           {Guard{DeniedPorts: []netip.AddrPort{netip.AddrPortFrom(server, 6443)}}, "[::ffff:198.51.100.7]:6443", false},
		"at another port than its":      {Guard{DeniedPorts: []netip.AddrPort{netip.AddrPortFrom(server, 6443)}}, "198.51.100.7:443", true},
		"another address at its port":   {Guard{DeniedPorts: []netip.AddrPort{netip.AddrPortFrom(server, 6443)}}, "198.51.100.8:6443", true},
		"with a zone":                   {Guard{Denied: []netip.Addr{netip.MustParseAddr("fd00::7")}}, "[fd00::7%eth0]:443", false},
		"in its translated form, local": {Guard{Denied: []netip.Addr{server}}, "[64:ff9b:1::198.51.100.7]:6443", false},
	} {
		row.guard.Rule = All
		if got := row.guard.Permits(netip.MustParseAddrPort(row.address)); got != row.want {
			t.Errorf("%s: permits %s: %t, want %t", name, row.address, got, row.want)
		}
	}
	port, connections := listenertest.Count(t)
	guard := Guard{Rule: All, Denied: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}
	_, err := guard.DialContext(t.Context(), "tcp4", "localhost:"+port)
	isRefused(t, err, "localhost")
	if connections.Load() != 0 {
		t.Error("a denied address was connected to")
	}
}

func TestControlRefusesWhatIsNoAddress(t *testing.T) {
	control := Guard{Rule: All}.Control("socket.test")
	for _, resolved := range []string{"", "/run/socket", "name.test:443", "1.1.1.1"} {
		isRefused(t, control("unix", resolved, nil), "socket.test")
	}
	if err := control("tcp", "127.0.0.1:443", nil); err != nil {
		t.Errorf("a permitted address is refused: %v", err)
	}
}

func TestErrorsThatAreNoRefusalsStayAsTheyAre(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	_ = listener.Close()
	var refused *RefusedError
	if _, err := (Guard{Rule: All}).DialContext(t.Context(), "tcp", closed); err == nil || errors.As(err, &refused) {
		t.Errorf("a closed port: got %v, want an error that is no refusal", err)
	}
	// A time that is over before anything can be connected to.
	var failure net.Error
	if _, err := (Guard{Rule: All, Timeout: time.Nanosecond}).DialContext(t.Context(), "tcp", closed); !errors.As(err, &failure) || !failure.Timeout() {
		t.Errorf("a timeout: got %v", err)
	}
}
