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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
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

// sayingFrames is a connection of which one end says what a test wants.
func sayingFrames(t *testing.T, says ...[]byte) *forwarded {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	go func() { _, _ = io.Copy(io.Discard, theirs) }() // What it is answered.
	go func() {
		for _, one := range says {
			if _, err := theirs.Write(one); err != nil {
				return
			}
		}
	}()
	return newForwarded(ours)
}

func frame(head byte, payload ...byte) []byte {
	return append([]byte{head, byte(len(payload))}, payload...)
}

func TestFramesThatAreNoPartOfAForwardedPortEndIt(t *testing.T) {
	const binaryFrame, ping, end = 0x82, 0x89, 0x88
	ports := [][]byte{frame(binaryFrame, dataChannel, 0xfb, 0x20), frame(binaryFrame, errorChannel, 0xfb, 0x20)}
	for name, test := range map[string]struct {
		says [][]byte
		read string
		hint string
	}{
		"data":                  {says: append(ports, frame(binaryFrame, dataChannel, 'h', 'i')), read: "hi"},
		"data after a ping":     {says: append(ports, frame(ping, 'x'), frame(binaryFrame, dataChannel, 'h', 'i')), read: "hi"},
		"an end":                {says: append(ports, frame(end)), hint: "EOF"},
		"an error":              {says: append(ports, frame(binaryFrame, errorChannel, 'n', 'o')), hint: "cannot forward the port: no"},
		"no port":               {says: [][]byte{frame(binaryFrame, dataChannel, 'h', 'i', '!')}, hint: "which port"},
		"another channel":       {says: append(ports, frame(binaryFrame, 7, 'x')), hint: "channel 7"},
		"nothing":               {says: append(ports, frame(binaryFrame)), hint: "no part of forwarding"},
		"a part":                {says: [][]byte{frame(0x02, dataChannel, 0, 0)}, hint: "in parts"},
		"a mask":                {says: [][]byte{{binaryFrame, 0x83, 0, 0, 0, 0, 0, 0, 0}}, hint: "masked"},
		"a long ping":           {says: [][]byte{{ping, 126, 1, 0}}, hint: "too long"},
		"an opcode of nobody":   {says: [][]byte{frame(0x83, 'x')}, hint: "no part of forwarding"},
		"a frame without end":   {says: [][]byte{{binaryFrame, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, dataChannel}}, hint: "which port"},
		"an error without end":  {says: append(ports, append([]byte{binaryFrame, 126, 0xff, 0xff, errorChannel}, make([]byte, maxForwardError)...)), hint: "cannot forward"},
		"a long frame is whole": {says: append(ports, append([]byte{binaryFrame, 126, 1, 1, dataChannel}, make([]byte, 256)...)), read: string(make([]byte, 256))},
	} {
		t.Run(name, func(t *testing.T) {
			conn := sayingFrames(t, test.says...)
			got := make([]byte, max(len(test.read), 1))
			_, err := io.ReadFull(conn, got)
			if test.read != "" && (err != nil || string(got) != test.read) {
				t.Errorf("read %q, %v", got, err)
			}
			if test.read == "" && (err == nil || !strings.Contains(err.Error(), test.hint)) {
				t.Errorf("got %v", err)
			}
		})
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
