package transport

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/daytwo-dev/daytwo/controllers/internal/fencing"
	"github.com/daytwo-dev/daytwo/internal/netguard"
)

// Transport is the HTTP/2 transport of one workload cluster: one connection at a time, and every new one
// is asked for the cluster's identity before it carries anything else.
type Transport struct {
	server   string
	address  string
	proxy    func(*http.Request) (*url.URL, error)
	timeouts Timeouts
	guard    netguard.Guard
	// fence refuses writes where another manager may lead.
	fence *fencing.Fence
	http2 *http2.Transport
	// root is the path of the API server's URL.
	root string

	// dead is called when the connection that is in use ended; it must not block.
	dead func()

	// opening is held while a connection is opened, so that all who need one share it.
	opening chan struct{}
	// ctx ends with Close, and with it an attempt to open a connection.
	ctx   context.Context
	close context.CancelFunc

	mu            sync.Mutex
	conn          *http2.ClientConn
	credentials   *credentials
	pinned        types.UID
	pinnedVersion string
}

// Timeouts of connections.
type Timeouts struct {
	// Connect bounds dialing, the TLS handshake and the check of the identity together.
	Connect time.Duration
	// PingAfter is how long a connection may be silent before it is asked for a sign of life.
	PingAfter time.Duration
	// Ping is how long that sign may take.
	Ping time.Duration
}

// Options of a Transport.
type Options struct {
	Timeouts Timeouts
	// Guard permits the addresses that connections are made to; those of proxies, where there is one.
	Guard netguard.Guard
	// Fence refuses writes where another manager may lead; nil for none.
	Fence *fencing.Fence
}

// New prepares a transport; nothing is opened yet.
func New(config *rest.Config, options Options, dead func()) (*Transport, error) {
	server, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("server URL: %w", err)
	}
	address := server.Host
	if server.Port() == "" {
		address = net.JoinHostPort(server.Hostname(), "443")
	}
	l := &Transport{
		server: config.Host, root: server.Path, address: address, proxy: config.Proxy, timeouts: options.Timeouts,
		guard: options.Guard, fence: options.Fence, dead: dead, opening: make(chan struct{}, 1),
	}
	if l.credentials, err = newCredentials(config, server.Hostname()); err != nil {
		return nil, err
	}
	l.ctx, l.close = context.WithCancel(context.Background())
	if l.http2, err = newTransport(options.Timeouts); err != nil {
		return nil, err
	}
	l.http2.ConnPool = l
	return l, nil
}

const (
	// StreamBuffer is how much of an answer, in bytes, a server may send before it is read. A watch, or a list whose
	// objects are decoded, is read more slowly than a server may send, and each holds that much. It allows 1.25 MiB/s at a
	// round trip of 100 ms, so that a page of a list arrives in time.
	StreamBuffer = 128 << 10
	// ConnectionBuffer is the same for all answers of a cluster together.
	ConnectionBuffer = 4 << 20
	// MaxHeader bounds the header of an answer in bytes, in the place of 10 MiB.
	MaxHeader = 256 << 10
)

// newTransport makes a transport of HTTP/2 whose connections come from elsewhere.
func newTransport(timeouts Timeouts) (*http2.Transport, error) {
	made, err := http2.ConfigureTransports(&http.Transport{HTTP2: &http.HTTP2Config{
		MaxReceiveBufferPerStream: StreamBuffer, MaxReceiveBufferPerConnection: ConnectionBuffer,
	}})
	if err != nil {
		return nil, fmt.Errorf("configure HTTP/2: %w", err)
	}
	made.MaxHeaderListSize = MaxHeader
	made.ReadIdleTimeout, made.PingTimeout = timeouts.PingAfter, timeouts.Ping
	// A ping, like anything else, cannot be written when the buffers are full of what was not acknowledged.
	made.WriteByteTimeout = timeouts.Ping
	return made, nil
}

// Pin sets the identity that every connection from now on must have, and the version of the API
// server, where that is not empty.
func (l *Transport) Pin(identity types.UID, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pinned, l.pinnedVersion = identity, version
}

// Close ends the connection and what is in flight on it. No other is opened.
func (l *Transport) Close() {
	l.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.Close() // It is being thrown away.
		l.conn = nil
	}
}

// GetClientConn implements http2.ClientConnPool: it returns the connection, or opens and checks a
// new one in its place.
func (l *Transport) GetClientConn(request *http.Request, _ string) (*http2.ClientConn, error) {
	if l.isStale(request) {
		return nil, errStale
	}
	if conn := l.reserve(); conn != nil {
		return conn, nil
	}
	select {
	case l.opening <- struct{}{}:
		defer func() { <-l.opening }()
	case <-request.Context().Done():
		return nil, request.Context().Err()
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
	if l.isStale(request) {
		return nil, errStale
	}
	if conn := l.reserve(); conn != nil {
		return conn, nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, l.timeouts.Connect)
	defer cancel()
	defer context.AfterFunc(request.Context(), cancel)()
	return l.openLasting(ctx)
}

// reserve returns the connection if it takes another request.
func (l *Transport) reserve() *http2.ClientConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil && l.conn.ReserveNewRequest() {
		return l.conn
	}
	return nil
}

// keep makes a new connection the one to use. One that it replaces (the server asked for that, or
// all its streams are taken) ends when its last request does.
func (l *Transport) keep(conn *http2.ClientConn, opened *credentials) (*http2.ClientConn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.credentials != opened {
		_ = conn.Close() // It was opened with what was replaced.
		return nil, errStale
	}
	if l.ctx.Err() != nil {
		_ = conn.Close() // Not to be used.
		return nil, fmt.Errorf("connection to %s: %w", l.address, net.ErrClosed)
	}
	if !conn.ReserveNewRequest() {
		_ = conn.Close() // The same.
		return nil, fmt.Errorf("connection to %s: %w", l.address, errGoneAway)
	}
	if l.conn != nil {
		l.conn.SetDoNotReuse()
	}
	l.conn = conn
	return conn, nil
}

// MarkDead implements http2.ClientConnPool. The end of the connection in use is told at once: where nothing is
// watched, the next probe would be the first to notice it.
func (l *Transport) MarkDead(conn *http2.ClientConn) {
	l.mu.Lock()
	inUse := l.conn == conn
	if inUse {
		l.conn = nil
	}
	l.mu.Unlock()
	if inUse {
		l.dead()
	}
}
