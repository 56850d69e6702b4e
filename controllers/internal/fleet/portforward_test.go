package fleet

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/e2e/kubelet"
	"github.com/daytwo-dev/daytwo/internal/listenertest"
)

// pod makes a pod on a node that forwards its ports.
func (r *rig) pod(name string, ports map[string]string) {
	r.Helper()
	_, err := r.admin.CoreV1().Nodes().Create(r.Context(), kubelet.Start(r, name, ports), metav1.CreateOptions{})
	if err == nil {
		_, err = r.admin.CoreV1().Pods("default").Create(r.Context(), kubelet.Pod("default", name, name), metav1.CreateOptions{})
	}
	if err != nil {
		r.Fatal(err)
	}
}

// echo sends back what it is sent.
func (r *rig) echo() string {
	r.Helper()
	return listenertest.Serve(r, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
}

func TestAPortOfAPodIsForwardedByTheAPIServer(t *testing.T) {
	r := newRig(t, timeouts())
	cluster := r.connected(shared.access(hostOf(t, shared.first)))
	r.pod("forwarded", map[string]string{"8443": r.echo()})

	conn, err := cluster.ForwardToPod(t.Context(), "default", "forwarded", 8443)
	if err != nil {
		t.Fatal(err)
	}
	sent := strings.Repeat("0123456789abcdef", 20_000) // More than a frame in each direction.
	go func() { _, _ = io.WriteString(conn, sent) }()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != sent {
		t.Errorf("what comes back is not what was sent: %v", err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhyAPortIsNotForwardedIsTold(t *testing.T) {
	r := newRig(t, timeouts())
	cluster := r.connected(shared.access(hostOf(t, shared.first)))
	r.pod("closed", nil)
	conn, err := cluster.ForwardToPod(t.Context(), "default", "closed", 8443)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("got %v", err)
	}
	if _, err := cluster.ForwardToPod(t.Context(), "default", "nobody", 8443); !apierrors.IsNotFound(err) {
		t.Errorf("of a pod that is not there: %v", err)
	}
	for _, name := range []string{"", "..", "a/b", "a?b"} {
		if _, err := cluster.ForwardToPod(t.Context(), "default", name, 8443); err == nil || !strings.Contains(err.Error(), "no name of a pod") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestNoPortIsForwardedInAnotherCluster(t *testing.T) {
	r := newRig(t, timeouts())
	way := forwardTo(t, shared.first.Config().Host)
	cluster := r.connected(shared.access(way.address()))
	way.lead(t, shared.second.Config().Host)
	if _, err := cluster.ForwardToPod(t.Context(), "default", "forwarded", 8443); err == nil || !strings.Contains(err.Error(), "another cluster") {
		t.Errorf("got %v", err)
	}
}

// A connection that was forwarded carries TLS.
func TestTLSIsForwarded(t *testing.T) {
	r := newRig(t, timeouts())
	cluster := r.connected(shared.access(hostOf(t, shared.first)))
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	r.pod("tls", map[string]string{"443": server.Listener.Addr().String()})
	conn, err := cluster.ForwardToPod(t.Context(), "default", "tls", 443)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	if err := secure.HandshakeContext(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if !secure.ConnectionState().PeerCertificates[0].Equal(server.Certificate()) {
		t.Error("another certificate is served")
	}
}
