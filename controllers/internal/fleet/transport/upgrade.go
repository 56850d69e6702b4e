package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/transport"
)

// Upgrade opens a connection of its own and asks the API server to switch protocols at a path: HTTP/2 has no such thing. It is
// asked for the cluster's identity before, as every connection is. What answers is bounded until the protocol is switched. The
// connection ends with the transport.
func (l *Transport) Upgrade(ctx context.Context, path string, header http.Header) (net.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeouts.Connect)
	defer cancel()
	with := l.current()
	raw, err := l.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	config := with.tls.Clone()
	config.NextProtos = []string{"http/1.1"}
	secure := tls.Client(l.fence.Conn(raw), config)
	// Reads and writes know no context: they end with the connection.
	closes := context.AfterFunc(ctx, func() { _ = raw.Close() })
	conn, response, err := l.upgrade(ctx, secure, with, path, header)
	if !closes() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = raw.Close() // Not to be used.
		return nil, nil, err
	}
	conn.forget = context.AfterFunc(l.ctx, func() { _ = raw.Close() })
	return conn, response, nil
}

func (l *Transport) upgrade(ctx context.Context, secure *tls.Conn, with *credentials, path string, header http.Header) (*upgraded, *http.Response, error) {
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, nil, fmt.Errorf("TLS handshake with %s: %w", l.address, err)
	}
	limited := &io.LimitedReader{R: secure, N: maxAnswer + MaxHeader}
	one := single{secure, bufio.NewReader(limited)}
	l.mu.Lock()
	pinned := l.pinned
	l.mu.Unlock()
	identity, err := ReadIdentity(ctx, l.server, l.authorize(one, with))
	if err == nil && (identity != pinned || pinned == "") {
		err = ErrOtherCluster
	}
	if err != nil {
		return nil, nil, err
	}
	limited.N = maxAnswer + MaxHeader
	response, err := one.ask(ctx, l.server+path, header, with)
	if err != nil {
		return nil, nil, err
	}
	limited.N = math.MaxInt64
	return &upgraded{Conn: secure, reader: one.reader}, response, nil
}

// single is the one connection that requests are sent over, one after the other.
type single struct {
	net.Conn

	reader *bufio.Reader
}

// RoundTrip implements http.RoundTripper.
func (s single) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Write(s); err != nil {
		return nil, err
	}
	return http.ReadResponse(s.reader, request)
}

// ask asks to switch protocols.
func (s single) ask(ctx context.Context, url string, header http.Header, with *credentials) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header = header.Clone()
	through, err := transport.HTTPWrappersForConfig(with.config, s)
	if err != nil {
		return nil, err
	}
	response, err := through.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		return response, nil
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // Without a body, the code is told.
	status := metav1.Status{}
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" && status.Message != "" {
		return nil, &apierrors.StatusError{ErrStatus: status}
	}
	return nil, fmt.Errorf("GET %s answers %s", request.URL.Path, response.Status)
}

// upgraded is a connection of which some is read already.
type upgraded struct {
	net.Conn

	reader *bufio.Reader
	// forget that the connection ends with the transport.
	forget func() bool
}

// Read implements net.Conn.
func (u *upgraded) Read(into []byte) (int, error) { return u.reader.Read(into) }

// Close implements net.Conn.
func (u *upgraded) Close() error {
	u.forget()
	return u.Conn.Close()
}
