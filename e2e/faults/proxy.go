package faults

import (
	"context"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// maxStreams is more requests and watches than a client has at a time, also when none is ever answered.
const maxStreams = 10_000

// quiet drops what a server would log of each client that gave up.
var quiet = log.New(io.Discard, "", 0)

// Proxy stands between a client and an API server. Close must follow. Its methods may be called at the same time.
type Proxy struct {
	server *httptest.Server
	token  string
	// closed ends what hangs.
	closed chan struct{}

	mu      sync.Mutex
	backend *backend
	rules   []*Injected
	log     []*Request
}

// Start starts a proxy that ends with the test.
func Start(t testing.TB, upstream *rest.Config) *Proxy {
	t.Helper()
	proxy, err := New(upstream)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy
}

// New starts a proxy on the loopback address, in front of the API server that a configuration leads to, with the
// credentials of that configuration.
func New(upstream *rest.Config) (*Proxy, error) {
	first, err := newBackend(upstream)
	if err != nil {
		return nil, err
	}
	p := &Proxy{backend: first, token: rand.Text(), closed: make(chan struct{})}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.server.EnableHTTP2 = true
	p.server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: maxStreams}
	p.server.Config.ErrorLog = quiet
	p.server.Config.ReadHeaderTimeout = time.Minute
	p.server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, conn)
	}
	p.server.StartTLS()
	return p, nil
}

// Close ends the proxy and everything that passes through it.
func (p *Proxy) Close() {
	close(p.closed)
	p.mu.Lock()
	p.backend.end()
	p.mu.Unlock()
	p.server.CloseClientConnections()
	p.server.Close()
}

// Inject adds a rule. Where several apply to a request, the one that was added first acts.
func (p *Proxy) Inject(rule Rule) *Injected {
	injected := &Injected{proxy: p, rule: rule}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, injected)
	return injected
}

func (p *Proxy) remove(injected *Injected) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = slices.DeleteFunc(p.rules, func(one *Injected) bool { return one == injected })
}

// Switch leads all further requests to another API server, with the credentials of its configuration. Connections of
// clients stay open, but what is under way, watches among it, is cut off.
func (p *Proxy) Switch(upstream *rest.Config) error {
	next, err := newBackend(upstream)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backend.end()
	p.backend = next
	return nil
}

// Disconnect closes all connections of clients.
func (p *Proxy) Disconnect() { p.server.CloseClientConnections() }

// Requests returns the requests that match, in the order in which they came, disturbed or not.
func (p *Proxy) Requests(match Match) []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []Request
	for _, one := range p.log {
		if match.matches(*one) {
			found = append(found, *one)
		}
	}
	return found
}

// Config returns a client's configuration that leads to the proxy, without a limit of requests.
func (p *Proxy) Config() *rest.Config {
	return &rest.Config{
		Host: p.server.URL, BearerToken: p.token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: p.authority()},
	}
}

// Kubeconfig leads to the proxy.
func (p *Proxy) Kubeconfig() []byte {
	const name = "proxy"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: p.server.URL, CertificateAuthorityData: p.authority()}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: p.token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	content, err := clientcmd.Write(*config)
	if err != nil {
		panic(err) // Nothing in it depends on anything but this function.
	}
	return content
}

func (p *Proxy) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+p.token {
		http.Error(w, "the token is not the one of this proxy's kubeconfig", http.StatusUnauthorized)
		return
	}
	entry, action, behind := p.admit(parse(r))
	answer := &recorded{ResponseWriter: w, record: func(code int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		entry.Code = code
	}}
	action(Exchange{Response: answer, Request: r, Backend: behind, Closed: p.closed})
}

// admit writes a request down, and decides what becomes of it.
func (p *Proxy) admit(request Request) (*Request, Action, http.Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, &request)
	due := slices.IndexFunc(p.rules, func(one *Injected) bool { return one.due(request) })
	if due < 0 {
		return &request, pass, p.backend
	}
	request.Disturbed = true
	return &request, p.rules[due].rule.Action, p.backend
}

// recorded tells with which status a request was answered.
type recorded struct {
	http.ResponseWriter
	record func(code int)
	told   bool
}

func (r *recorded) WriteHeader(code int) {
	if code >= http.StatusOK && !r.told {
		r.told = true
		r.record(code)
	}
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorded) Write(content []byte) (int, error) {
	if !r.told {
		r.WriteHeader(http.StatusOK)
	}
	return r.ResponseWriter.Write(content)
}

// Unwrap lets the answer be flushed.
func (r *recorded) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// connectionKey is that of a request's connection in its context.
type connectionKey struct{}

// disconnect closes the connection that a request came over.
func disconnect(r *http.Request) error {
	conn, ok := r.Context().Value(connectionKey{}).(net.Conn)
	if !ok {
		return errors.New("the request came over no connection of this proxy")
	}
	return conn.Close()
}
