package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/proxy"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
	"github.com/daytwo-dev/daytwo/internal/netguard"
)

// dialThrough opens a connection to an address by way of an http, https or socks5 proxy. The guard checks the
// proxy's address. The proxy decides which addresses it connects to.
func dialThrough(ctx context.Context, guard netguard.Guard, via *url.URL, address string) (net.Conn, error) {
	if via.Scheme == "socks5" || via.Scheme == "socks5h" {
		socks, err := proxy.FromURL(via, guardedDialer{guard})
		if err != nil {
			return nil, fmt.Errorf("proxy %s: %w", via.Redacted(), err)
		}
		return socks.(proxy.ContextDialer).DialContext(ctx, "tcp", address)
	}
	conn, err := dialProxy(ctx, guard, via)
	if err != nil {
		return nil, fmt.Errorf("proxy %s: %w", via.Redacted(), err)
	}
	if err := connect(ctx, conn, via, address); err != nil {
		_ = conn.Close() // Not to be used.
		return nil, fmt.Errorf("proxy %s: %w", via.Redacted(), err)
	}
	return conn, nil
}

// guardedDialer is a guard as package proxy wants it.
type guardedDialer struct{ netguard.Guard }

// Dial implements proxy.Dialer.
func (d guardedDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

func dialProxy(ctx context.Context, guard netguard.Guard, via *url.URL) (net.Conn, error) {
	host := via.Host
	if via.Port() == "" {
		host = net.JoinHostPort(via.Hostname(), map[string]string{"http": "80", "https": "443"}[via.Scheme])
	}
	conn, err := guard.DialContext(ctx, "tcp", host)
	if err != nil || via.Scheme != "https" {
		return conn, err
	}
	secure := tls.Client(conn, &tls.Config{ServerName: via.Hostname(), MinVersion: tls.VersionTLS12})
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // Not to be used.
		return nil, err
	}
	return secure, nil
}

// connect asks an HTTP proxy for a tunnel (RFC 9110, 9.3.6).
func connect(ctx context.Context, conn net.Conn, via *url.URL, address string) error {
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if user := via.User; user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := request.Write(conn); err != nil {
		return err
	}
	// The server says nothing of its own before the TLS handshake, so nothing is lost in the buffer.
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return bounded.AnswerError(fmt.Sprintf("the proxy answers %d to CONNECT %s", response.StatusCode, address))
	}
	if _, ok := ctx.Deadline(); ok {
		return conn.SetDeadline(time.Time{})
	}
	return nil
}
