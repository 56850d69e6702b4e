package charts

import (
	"net"
	"testing"
)

func TestNameIsRefusedForTheAddressThatItResolvesTo(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, host := range []string{"localhost", "127.0.0.1", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "169.254.169.254"} {
		_, err := dial(t.Context(), newGuard(Options{}), "tcp", host+":"+port)
		if host == "2130706433" && err != nil {
			continue // not an address to Go, and perhaps a name that nobody has
		}
		refusedFor(t, err, SourceRefused, "not on the Internet")
	}
	conn, err := dial(t.Context(), newGuard(Options{AllowPrivateSources: true}), "tcp", "localhost:"+port)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestRepositoryNearTheManagerIsReachedOnlyWherePermitted(t *testing.T) {
	w := newEnv(t)
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
	w := newEnv(t)
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
