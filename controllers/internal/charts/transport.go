package charts

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	// maxRedirects of one request.
	maxRedirects = 5
	// maxHeader is far more than any honest server sends, in bytes.
	maxHeader     = 256 * 1024
	handshakeTime = 15 * time.Second
)

// newTransport serves one fetch alone, so no connection that one customer chose is used for another.
// It speaks HTTP/1.1, and dials under ctx. Its connections are closed, and its goroutines end, when
// alive does.
func newTransport(ctx, alive context.Context, asked *request, f *Fetcher) *http.Transport {
	transport := &http.Transport{
		DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
			conn, err := f.dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			// A handshake that stalls would outlive its request.
			context.AfterFunc(alive, func() { _ = conn.Close() })
			return conn, nil
		},
		TLSClientConfig:        &tls.Config{RootCAs: asked.roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    handshakeTime,
		MaxResponseHeaderBytes: maxHeader,
		// An archive that a server labels as compressed, which is a usual mistake, stays as it is.
		DisableCompression: true,
	}
	if f.options.AllowPrivateSources {
		transport.Proxy = http.ProxyFromEnvironment
	}
	return transport
}

// checkRedirect lets a server redirect to any https URL. The gate takes the credentials off.
func checkRedirect(next *http.Request, before []*http.Request) error {
	if len(before) > maxRedirects {
		return refused("%s redirects more than %d times: name the repository that it leads to", before[0].URL.Host, maxRedirects)
	}
	// The path that redirected may be known to the customer alone.
	next.Header.Del("Referer")
	return checkTarget(next.URL, before[len(before)-1].URL.Host+" redirects to "+quote(next.URL.Host))
}

// checkTarget checks a URL that a server gave. What says who gave it, and what for.
func checkTarget(target *url.URL, what string) error {
	switch {
	case target.Scheme != "https":
		return refused("%s by %s, and only https is used: serve it over https", what, quote(target.Scheme))
	case target.User != nil:
		return refused("%s with a user name or password in the URL: take it out", what)
	case target.Host == "":
		return refused("%s, which is no host: correct the URL", what)
	}
	return nil
}

// restrictedTransport is what every request of a fetch goes through, whoever makes it: ours, redirected ones, and
// those for a token. It holds the one rule on which all credentials depend.
type restrictedTransport struct {
	host    string // the only one that gets credentials
	permits func(netip.AddrPort) bool
	next    http.RoundTripper

	mu sync.Mutex
	// withheld is the host that would have been sent credentials, or empty.
	withheld string
}

// RoundTrip implements http.RoundTripper.
func (g *restrictedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := checkTarget(req.URL, quote(g.host)+" leads to "+quote(req.URL.Host)); err != nil {
		return nil, err
	}
	passed := req.Clone(req.Context())
	passed.Header.Set("User-Agent", "daytwo")
	passed.Header.Del("Cookie")
	if !sameHost(req.URL.Host, g.host) {
		g.withhold(passed)
	}
	resp, err := g.next.RoundTrip(passed)
	if err != nil {
		return nil, err
	}
	if err := g.checkRealm(resp); err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	return resp, nil
}

func (g *restrictedTransport) withhold(req *http.Request) {
	if req.Header.Get("Authorization") == "" {
		return
	}
	req.Header.Del("Authorization")
	g.mu.Lock()
	defer g.mu.Unlock()
	g.withheld = req.URL.Host
}

func (g *restrictedTransport) withheldFrom() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.withheld
}

var realmPattern = regexp.MustCompile(`(?i)^\s*bearer\s.*\brealm="?([^",\s]+)`)

// checkRealm looks where a registry sends for a token, before anybody goes there.
func (g *restrictedTransport) checkRealm(resp *http.Response) error {
	match := realmPattern.FindStringSubmatch(resp.Header.Get("Www-Authenticate"))
	if resp.StatusCode != http.StatusUnauthorized || match == nil {
		return nil
	}
	realm, err := url.Parse(match[1])
	if err != nil {
		return refused("%s names a token service that is not a URL", quote(g.host))
	}
	what := quote(g.host) + " gets its tokens from " + quote(realm.Host)
	if err := checkTarget(realm, what); err != nil {
		return err
	}
	// Names are looked at when they are connected to.
	if address, err := netip.ParseAddr(realm.Hostname()); err == nil && !g.permits(netip.AddrPortFrom(address, 443)) {
		return refused("%s, an address that is not on the Internet", what)
	}
	return nil
}

// sameHost compares names and ports. Another port is another server.
func sameHost(a, b string) bool { return withPort(a) == withPort(b) }

func withPort(host string) string {
	u := url.URL{Host: strings.ToLower(host)}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
