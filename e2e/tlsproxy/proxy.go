// Package tlsproxy stands in front of an API server as a load balancer does that ends TLS: clients keep one HTTP/2
// connection to it, and it may lead their next request to another API server without a word.
//
//	proxy, err := tlsproxy.Start(first)          // a *rest.Config: the proxy sends that one's credentials
//	proxy.Lead(second)                           // from the next request on; what is open stays
//	proxy.Requests("https://127.0.0.1:6443")     // what one of them got, and answered
package tlsproxy

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// Proxy is one address. Its methods may be called at the same time.
type Proxy struct {
	server      *httptest.Server
	connections atomic.Int64

	mu       sync.Mutex
	backend  *backend
	requests []Request
}

// Request is one that a backend has answered.
type Request struct {
	// Server is the URL of the API server that got it.
	Server string
	// Method and URI of the request, the latter with its query.
	Method, URI string
	// Status is the HTTP status of the answer.
	Status int
}

// Writes is whether the request changed something, or would have if it was not a dry run.
func (r Request) Writes() bool {
	return r.Method != http.MethodGet && r.Status < http.StatusMultipleChoices
}

// String is the form for people.
func (r Request) String() string { return fmt.Sprintf("%s %s: %d", r.Method, r.URI, r.Status) }

type backend struct {
	url       *url.URL
	transport http.RoundTripper
}

// Start serves on a free port of the loopback address until Close.
func Start(config *rest.Config) (*Proxy, error) {
	p := &Proxy{}
	if err := p.Lead(config); err != nil {
		return nil, err
	}
	handler := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(backendOf(r.Out).url) },
		Transport:     p,
		FlushInterval: -1, // Watches.
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(withBackend(r.Context(), p.current())))
	}))
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = handler.ErrorLog
	p.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			p.connections.Add(1)
		}
	}
	p.server.StartTLS()
	return p, nil
}

// Lead makes the requests that follow go to another API server, on connections that are open as well.
func (p *Proxy) Lead(config *rest.Config) error {
	to, err := url.Parse(config.Host)
	if err != nil {
		return fmt.Errorf("address of the API server: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return fmt.Errorf("credentials for %s: %w", config.Host, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backend = &backend{url: to, transport: transport}
	return nil
}

// RoundTrip implements http.RoundTripper: it sends a request to the backend that was chosen for it.
func (p *Proxy) RoundTrip(request *http.Request) (*http.Response, error) {
	to := backendOf(request)
	response, err := to.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, Request{
		Server: to.url.String(), Method: request.Method, URI: request.URL.RequestURI(), Status: response.StatusCode,
	})
	return response, nil
}

func (p *Proxy) current() *backend {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.backend
}

// Close ends the proxy and all its connections.
func (p *Proxy) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
}

// Address is host and port.
func (p *Proxy) Address() string { return p.server.Listener.Addr().String() }

// CA returns the certificate, as PEM, that vouches for the proxy under its address.
func (p *Proxy) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
}

// Connections returns how many connections were accepted so far.
func (p *Proxy) Connections() int { return int(p.connections.Load()) }

// Requests returns what one API server has answered so far.
func (p *Proxy) Requests(server string) []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.requests), func(one Request) bool { return one.Server != server })
}
