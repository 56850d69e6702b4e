package fleet

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
)

// forwarder passes TCP connections on to an address that can be changed.
type forwarder struct {
	listener net.Listener

	mu       sync.Mutex
	to       string
	accepted int
	dropping bool
	conns    sets.Set[net.Conn]
}

func forwardTo(t *testing.T, endpoint string) *forwarder {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &forwarder{listener: listener, conns: sets.New[net.Conn]()}
	f.lead(t, endpoint)
	t.Cleanup(func() {
		_ = listener.Close()
		f.cut()
	})
	go f.serve()
	return f
}

func (f *forwarder) address() string { return f.listener.Addr().String() }

// lead makes new connections go to another endpoint.
func (f *forwarder) lead(t *testing.T, endpoint string) {
	t.Helper()
	server, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to = server.Host
}

// cut closes all connections.
func (f *forwarder) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for conn := range f.conns {
		_ = conn.Close()
	}
	f.conns.Clear()
}

// drop makes all packets vanish from now on, those of new connections too.
func (f *forwarder) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropping = true
}

func (f *forwarder) drops() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dropping
}

// count returns how many connections were accepted so far.
func (f *forwarder) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.accepted
}

func (f *forwarder) serve() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.accepted++
		onward, err := net.Dial("tcp", f.to)
		if err != nil {
			_ = conn.Close()
			f.mu.Unlock()
			continue
		}
		f.conns.Insert(conn, onward)
		f.mu.Unlock()
		go f.pass(conn, onward)
		go f.pass(onward, conn)
	}
}

// pass copies until either side ends, and ends both then.
func (f *forwarder) pass(to, from net.Conn) {
	_, _ = io.Copy(droppable{to, f}, from)
	_ = to.Close()
	_ = from.Close()
}

// droppable loses what is written to it while its forwarder drops packets.
type droppable struct {
	net.Conn
	way *forwarder
}

func (d droppable) Write(packet []byte) (int, error) {
	if d.way.drops() {
		return len(packet), nil
	}
	return d.Conn.Write(packet)
}
