package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"golang.org/x/net/http2"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
)

// openTries is how many new connections are tried of which the server takes its leave at once: it may send
// GOAWAY at any request (--goaway-chance), and also at the checks of a new one.
const openTries = 5

// errGoneAway: the server took its leave of a connection before that could be used.
var errGoneAway = errors.New("the server closes every new connection")

func (l *Transport) openLasting(ctx context.Context) (*http2.ClientConn, error) {
	for try := 1; ; try++ {
		with := l.current()
		conn, err := l.open(ctx, with)
		if err == nil {
			conn, err = l.keep(conn, with)
		}
		if err == nil || try == openTries || !errors.Is(err, errGoneAway) {
			return conn, err
		}
	}
}

// open dials, shakes hands and checks the identity.
func (l *Transport) open(ctx context.Context, with *credentials) (*http2.ClientConn, error) {
	raw, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(l.fence.Conn(raw), with.tls)
	conn, err := l.shakeHands(ctx, secure)
	if err == nil {
		if err = l.checkIdentity(ctx, conn, with); err != nil && !IsNews(err) && !conn.CanTakeNewRequest() {
			err = fmt.Errorf("%w: %w", errGoneAway, err)
		}
	}
	if err != nil {
		_ = raw.Close() // The first error is the one to tell.
		return nil, err
	}
	return conn, nil
}

func (l *Transport) shakeHands(ctx context.Context, secure *tls.Conn) (*http2.ClientConn, error) {
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS handshake with %s: %w", l.address, err)
	}
	if secure.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
		return nil, bounded.AnswerError(l.address + " does not speak HTTP/2, which Daytwo needs to notice dead connections")
	}
	conn, err := l.http2.NewClientConn(secure)
	if err != nil {
		return nil, fmt.Errorf("HTTP/2 with %s: %w", l.address, err)
	}
	return conn, nil
}

func (l *Transport) checkIdentity(ctx context.Context, conn *http2.ClientConn, with *credentials) error {
	l.mu.Lock()
	pinned, pinnedVersion := l.pinned, l.pinnedVersion
	l.mu.Unlock()
	if pinned == "" {
		return nil
	}
	through := l.authorize(conn, with)
	identity, err := ReadIdentity(ctx, l.server, through)
	if err != nil {
		return err
	}
	if identity != pinned {
		return ErrOtherCluster
	}
	if pinnedVersion == "" {
		return nil
	}
	version, err := ReadVersion(ctx, l.server, through)
	if err != nil {
		return err
	}
	if version != pinnedVersion {
		return errOtherVersion
	}
	return nil
}

// dial connects to the server, or to the proxy before it, where the guard permits the address.
func (l *Transport) dial(ctx context.Context) (net.Conn, error) {
	if l.proxy == nil {
		return l.guard.DialContext(ctx, "tcp", l.address)
	}
	proxy, err := l.proxy(nil)
	if err != nil {
		return nil, fmt.Errorf("proxy URL: %w", err)
	}
	return dialThrough(ctx, l.guard, proxy, l.address)
}
