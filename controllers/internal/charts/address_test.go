package charts

import (
	"net"
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
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: public %t, want %t", text, got, want)
		}
	}
}

func TestNameIsRefusedForTheAddressThatItResolvesTo(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, host := range []string{"localhost", "127.0.0.1", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "169.254.169.254"} {
		_, err := dialer{permits: permitsPublic}.dial(t.Context(), "tcp", host+":"+port)
		if host == "2130706433" && err != nil {
			continue // not an address to Go, and perhaps a name that nobody has
		}
		refusedFor(t, err, SourceRefused, "not on the Internet")
	}
	conn, err := dialer{permits: permitsAll}.dial(t.Context(), "tcp", "localhost:"+port)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestRepositoryNearTheManagerIsReachedOnlyWherePermitted(t *testing.T) {
	w := newWorld(t)
	s := newShop(t, "", "1.0.0")
	server := w.serve(s.mux)
	source := w.source("https://" + server.address + "/stable")
	for _, repository := range []string{source.Repository, "oci://" + server.address + "/stable"} {
		source.Repository = repository
		_, err := NewFetcher(Options{}).Fetch(t.Context(), source)
		refusedFor(t, err, SourceRefused, "not on the Internet", "private sources allowed")
	}
	source.Repository = "https://" + server.address + "/stable"
	if server.count("") != 0 {
		t.Error("the server was reached")
	}
	chart, err := NewFetcher(Options{AllowPrivateSources: true}).Fetch(t.Context(), source)
	got(t, chart, err, "1.0.0", s.archives["1.0.0"])
}

func TestProxyOfTheEnvironmentIsForPrivateSourcesOnly(t *testing.T) {
	w := newWorld(t)
	asked, err := check(w.source(stable))
	if err != nil {
		t.Fatal(err)
	}
	for _, private := range []bool{false, true} {
		transport := newTransport(t.Context(), t.Context(), asked, NewFetcher(Options{AllowPrivateSources: private}))
		if hasProxy := transport.Proxy != nil; hasProxy != private {
			t.Errorf("private sources %t: proxy %t", private, hasProxy)
		}
	}
}
