package transport

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/daytwo-dev/daytwo/internal/listenertest"
	"github.com/daytwo-dev/daytwo/internal/netguard"
)

// ask opens a connection to a server and asks for its identity.
func ask(t *testing.T, config *rest.Config, guard netguard.Guard) error {
	t.Helper()
	opened, err := New(config, Options{Timeouts: Timeouts{Connect: 5 * time.Second, PingAfter: time.Minute, Ping: time.Minute}, Guard: guard}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	_, err = ReadIdentity(t.Context(), config.Host, opened.RoundTripper())
	if err == nil {
		t.Fatalf("%s is taken for a cluster", config.Host)
	}
	return err
}

func isRefused(t *testing.T, err error) {
	t.Helper()
	var refused *netguard.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(Explain(err), "has an address that is not connected to") {
		t.Errorf("got %v, want that the address is refused", err)
	}
}

func TestKubeconfigsLeadToNoAddressThatIsRefused(t *testing.T) {
	port, connections := listenertest.Count(t)
	for _, host := range []string{
		"169.254.169.254:80", "[::ffff:169.254.169.254]:80", "[64:ff9b::169.254.169.254]:80", "[fe80::1%25lo]:443", "[fd00:ec2::254]:80",
		"127.0.0.1:" + port, "[::ffff:127.0.0.1]:" + port, "localhost:" + port, "0.0.0.0:" + port, "[::1]:" + port, "127.1.2.3:" + port,
	} {
		t.Run(host, func(t *testing.T) {
			isRefused(t, ask(t, &rest.Config{Host: "https://" + host}, netguard.Guard{Rule: netguard.PublicAndPrivate}))
		})
	}
	if connections.Load() != 0 {
		t.Error("a refused address was connected to")
	}
}

// A proxy is what the manager connects to, so its address is the one that counts.
func TestProxiesHaveNoAddressThatIsRefused(t *testing.T) {
	port, connections := listenertest.Count(t)
	for _, scheme := range []string{"http", "https", "socks5", "socks5h"} {
		t.Run(scheme, func(t *testing.T) {
			config := &rest.Config{Host: "https://cluster.example:6443", Proxy: http.ProxyURL(&url.URL{Scheme: scheme, Host: "localhost:" + port})}
			isRefused(t, ask(t, config, netguard.Guard{Rule: netguard.PublicAndPrivate}))
			if connections.Load() != 0 {
				t.Error("the proxy was connected to")
			}
			if err := ask(t, config, netguard.Guard{Rule: netguard.AndLoopback(netguard.PublicAndPrivate)}); connections.Swap(0) == 0 {
				t.Errorf("a proxy that is permitted was not connected to: %v", err)
			}
		})
	}
}
