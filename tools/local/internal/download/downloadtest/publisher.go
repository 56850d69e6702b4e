// Package downloadtest stands in for the hosts that programs are downloaded from.
package downloadtest

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/daytwo-dev/daytwo/tools/local/internal/pki"
)

// Publisher is a server that every name leads to.
type Publisher struct {
	// Transport connects to the publisher, whatever the host, and trusts its certificate alone.
	Transport *http.Transport

	asked atomic.Int32
}

// Start starts a publisher that answers for these hosts, over TLS, until the test ends.
func Start(t testing.TB, handler http.HandlerFunc, hosts ...string) *Publisher {
	t.Helper()
	authority, err := pki.NewAuthority("publisher")
	if err != nil {
		t.Fatal(err)
	}
	serving, err := authority.IssueServing(hosts)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(serving.Certificate, serving.Key)
	if err != nil {
		t.Fatal(err)
	}
	p := &Publisher{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		handler(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Certificate)
	p.Transport = &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}
	t.Cleanup(p.Transport.CloseIdleConnections)
	return p
}

// Asked returns how many requests came.
func (p *Publisher) Asked() int { return int(p.asked.Load()) }

// Files answers with contents by host and path, as in "dl.k8s.io/release/stable.txt". What is missing is 404.
func Files(contents map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		content, ok := contents[r.Host+r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(content)) // A client that is gone has ended its test.
	}
}

// Sum returns the SHA-256 of a content in hex.
func Sum(content string) string {
	digest := sha256.Sum256([]byte(content))
	return hex.EncodeToString(digest[:])
}
