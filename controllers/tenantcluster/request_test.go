package tenantcluster

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// door is an address behind which there is a cluster once it opens. Until then it hangs up.
type door struct {
	listener net.Listener
	cluster  string

	mu    sync.Mutex
	open  bool
	calls []time.Time
}

func doorTo(t *testing.T, cluster *localfleet.Cluster) *door {
	t.Helper()
	server, err := url.Parse(cluster.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	d := &door{listener: listener, cluster: server.Host}
	go d.serve()
	return d
}

func (d *door) serve() {
	for {
		outside, err := d.listener.Accept()
		if err != nil {
			return
		}
		if !d.call() {
			_ = outside.Close()
			continue
		}
		inside, err := net.Dial("tcp", d.cluster)
		if err != nil {
			_ = outside.Close()
			continue
		}
		go pass(inside, outside)
		go pass(outside, inside)
	}
}

// pass copies until either side ends, and ends both then.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

func (d *door) call() (open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, time.Now())
	return d.open
}

func (d *door) unlock() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = true
}

func (d *door) called() []time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

// kubeconfig leads to the cluster by way of the door.
func (d *door) kubeconfig(t *testing.T, content []byte) []byte {
	t.Helper()
	config, err := clientcmd.Load(content)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + d.listener.Addr().String()
	}
	if content, err = clientcmd.Write(*config); err != nil {
		t.Fatal(err)
	}
	return content
}

func TestRequestedTryDoesNotWaitForTheBackoff(t *testing.T) {
	// The pause after the fourth attempt is the first that is far longer than what is done meanwhile. Those after it are longer.
	const attempts, pause = 4, 8 * time.Second
	tenant, door := newTenant(t), doorTo(t, shared.blue)
	tenant.imported("prod", door.kubeconfig(t, issued(t, 100*24*time.Hour)))
	tenant.eventually("the backoff has grown", func() (string, bool) { return "", len(door.called()) >= attempts })

	before := len(door.called())
	door.unlock()
	tenant.annotate("prod", metav1alpha1.AnnotationRequestedAt, "now")
	tenant.waitReady("prod")
	calls := door.called()
	if waited := calls[before].Sub(calls[before-1]); waited >= pause {
		t.Errorf("the next attempt came %s after the one before, at the end of its backoff", waited)
	}
}
