// Package listenertest listens on the loopback address for tests that play something else than an API server.
package listenertest

import (
	"net"
	"sync/atomic"
	"testing"
)

// Serve handles each connection in a goroutine of its own and closes it then, until the test ends. It returns the address.
func Serve(t testing.TB, handle func(net.Conn)) (address string) {
	t.Helper()
	listener := listen(t)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				handle(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// Count returns the port of a listener that closes each connection at once, and how many there were.
func Count(t testing.TB) (port string, connections *atomic.Int32) {
	t.Helper()
	connections = &atomic.Int32{}
	_, port, _ = net.SplitHostPort(Serve(t, func(net.Conn) { connections.Add(1) }))
	return port, connections
}

// Silent takes connections until the test ends, and never says a word on them.
func Silent(t testing.TB) (address string) {
	t.Helper()
	return Serve(t, func(net.Conn) { <-t.Context().Done() })
}

// Closed returns an address at which nobody listens.
func Closed(t testing.TB) (address string) {
	t.Helper()
	listener := listen(t)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}
