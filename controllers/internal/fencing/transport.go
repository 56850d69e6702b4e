package fencing

import (
	"context"
	"fmt"
	"net"
	"net/http"
)

// RoundTripper refuses writes with ErrNotLeader while the Fence does not hold. Reads pass, and so do dry runs,
// with which the webhooks of every replica answer.
func (f *Fence) RoundTripper(inner http.RoundTripper) http.RoundTripper {
	if f == nil {
		return inner
	}
	return roundTripper{fence: f, inner: inner}
}

type roundTripper struct {
	fence *Fence
	inner http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	if isWrite(request) {
		if err := r.fence.Check(); err != nil {
			if request.Body != nil {
				_ = request.Body.Close() // A RoundTripper must; the first error is the one to tell.
			}
			return nil, fmt.Errorf("%s %s: %w", request.Method, request.URL.Path, err)
		}
	}
	return r.inner.RoundTrip(request)
}

// WrappedRoundTripper returns the inner round tripper, for client-go's utilities.
func (r roundTripper) WrappedRoundTripper() http.RoundTripper { return r.inner }

func isWrite(request *http.Request) bool {
	return request.Method != http.MethodGet && request.Method != http.MethodHead && !request.URL.Query().Has("dryRun")
}

// Conn sends nothing once the Fence held and does not any more. It stands below TLS, next to the kernel: a
// request that was checked may wait long for its turn on a connection.
func (f *Fence) Conn(inner net.Conn) net.Conn {
	if f == nil {
		return inner
	}
	return conn{Conn: inner, fence: f}
}

type conn struct {
	net.Conn
	fence *Fence
}

// Write implements net.Conn.
func (c conn) Write(b []byte) (int, error) {
	if err := c.fence.checkLapsed(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Dial makes Conns of the connections that dial opens.
func (f *Fence) Dial(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		opened, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return f.Conn(opened), nil
	}
}
