package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

func keyOf(object *corev1.ConfigMap) objects.Key {
	return objects.Key{GroupKind: configMaps, Namespace: object.Namespace, Name: object.Name}
}

func hostOf(t *testing.T, cluster *localfleet.Cluster) string {
	t.Helper()
	server, err := url.Parse(cluster.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	return server.Host
}

func TestNoRequestReachesAnotherClusterBehindTheSameAddress(t *testing.T) {
	r := newRig(t, timeouts())
	way := forwardTo(t, shared.first.Endpoint())
	cluster := r.connected(shared.access(way.address()))
	r.watched(cluster)

	ref := objects.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "default", Name: "must-not-arrive"}
	body := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"must-not-arrive"}}`)
	way.lead(t, shared.second.Endpoint())
	way.cut()
	r.eventually("the other cluster is recognized", func() bool {
		// A reconciler that still holds the cluster goes on writing.
		_, _ = cluster.Apply(context.Background(), ref, "", body, true)
		state, _ := r.fleet.State(r.key)
		return state.Phase == Connected && state.Identity != cluster.ID
	})
	if _, ok := r.fleet.Get(r.key); ok {
		t.Error("the other cluster is handed out with the admission of the first")
	}
	for _, request := range requestsOf(t, shared.audit, user) {
		if request.String() != "get "+transport.IdentityPath && request.String() != "get /version" {
			t.Errorf("the other cluster got: %s", request)
		}
	}
}

// audited is a request that an audit log tells of.
type audited struct {
	Verb, RequestURI string
	User             struct{ Username string }
	ResponseStatus   struct{ Code int }
}

func (a audited) String() string { return a.Verb + " " + a.RequestURI }

// requestsOf reads what a user asked of the second cluster.
func requestsOf(t *testing.T, log, user string) []audited {
	t.Helper()
	file, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var requests []audited
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event audited
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		if event.User.Username == user {
			requests = append(requests, event)
		}
	}
	if len(requests) == 0 {
		t.Fatal("the audit log knows of no request, not even of the first contact")
	}
	return requests
}

func TestConnectWithTheSameAccessDoesNothing(t *testing.T) {
	r := newRig(t, timeouts())
	access := shared.access(hostOf(t, shared.first))
	before := r.connected(access)
	r.fleet.Connect(r.key, access)
	if after, _ := r.fleet.Get(r.key); after != before {
		t.Error("the connection was swapped")
	}
}

func TestConnectWithAnotherAccessSwapsAndKeepsTheAdmission(t *testing.T) {
	r := newRig(t, timeouts())
	way := forwardTo(t, shared.first.Endpoint())
	before := r.connected(shared.access(hostOf(t, shared.first)))
	object := r.watched(before)
	r.fleet.Connect(r.key, shared.access(way.address()))
	if _, err := before.Get(t.Context(), objects.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "default", Name: object.Name}); err == nil {
		t.Error("the old connection still works")
	}
	r.eventually("the new connection is handed out", func() bool {
		after, ok := r.fleet.Get(r.key)
		return ok && after != before
	})
}

func TestClosedConnectionIsReopenedAndItsWatchResumes(t *testing.T) {
	r := newRig(t, timeouts())
	way := forwardTo(t, shared.first.Endpoint())
	cluster := r.connected(shared.access(way.address()))
	object := r.watched(cluster)
	for range 3 {
		way.cut()
		r.seen(cluster.Tracker, r.edit(object))
	}
	if after, ok := r.fleet.Get(r.key); !ok || after != cluster {
		t.Error("a connection that was closed for a moment counts as lost")
	}
}

func TestGoawayFailsNoRequest(t *testing.T) {
	r := newRig(t, timeouts())
	way := forwardTo(t, shared.first.Endpoint())
	cluster := r.connected(shared.access(way.address()))
	object := r.watched(cluster)
	before := way.count()
	ref := objects.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "default", Name: object.Name}
	r.eventually("the server has asked three times for another connection", func() bool {
		if _, err := cluster.Get(t.Context(), ref); err != nil {
			t.Fatalf("a request failed: %v", err)
		}
		return way.count() >= before+3
	})
	r.seen(cluster.Tracker, r.edit(object))
}

func TestExpiredResourceVersionListsAgain(t *testing.T) {
	limits := timeouts()
	limits.Patience = patience // The restart is not to count as a loss: the watch has to cope.
	r := newRig(t, limits)
	cluster := r.connected(shared.access(hostOf(t, shared.first)))
	object := r.watched(cluster)
	for i := range 20 {
		unseen := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: fmt.Sprintf("unseen-%d-", i)}}
		if _, err := r.admin.CoreV1().ConfigMaps("default").Create(t.Context(), unseen, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := shared.first.ExpireResourceVersions(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.seen(cluster.Tracker, r.edit(object))
	if after, ok := r.fleet.Get(r.key); !ok || after != cluster {
		t.Error("the connection was given up")
	}
}

func TestFrozenServerIsNoticedByPings(t *testing.T) {
	r := newRig(t, timeouts())
	cluster := r.connected(shared.access(hostOf(t, shared.first)))
	object := r.watched(cluster)
	if err := shared.first.Pause(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.first.Resume() })
	r.eventually("the frozen server counts as unreachable", func() bool {
		state, _ := r.fleet.State(r.key)
		return state.Phase == Unreachable
	})
	if _, ok := r.fleet.Get(r.key); ok {
		t.Error("the frozen cluster is handed out")
	}
	if err := shared.first.Resume(); err != nil {
		t.Fatal(err)
	}
	r.eventually("it is connected again, with its admission", func() bool {
		_, ok := r.fleet.Get(r.key)
		return ok
	})
	if seen, _ := r.fleet.Tracker(r.key).Look(keyOf(object)); seen != nil {
		t.Error("what was seen before is still believed")
	}
}

func TestNothingIsLeftOfTwentyConnections(t *testing.T) {
	r := newRig(t, timeouts())
	access := shared.access(hostOf(t, shared.first))
	cycle := func() {
		r.watched(r.connected(access))
		r.fleet.Forget(r.key)
	}
	cycle()
	before := runtime.NumGoroutine()
	for range 20 {
		cycle()
	}
	r.eventually("the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before+2 })
}

func TestTwoKeysAreNotAdmittedToOneCluster(t *testing.T) {
	r := newRig(t, timeouts())
	access := shared.access(hostOf(t, shared.first))
	cluster := r.connected(access)
	other := types.NamespacedName{Namespace: "other", Name: "prod"}
	t.Cleanup(func() { r.fleet.Forget(other) })
	r.fleet.Connect(other, access)
	if err := r.fleet.Admit(other, cluster.ID); !errors.Is(err, ErrClaimed) {
		t.Errorf("got %v", err)
	}
	if _, ok := r.fleet.Get(r.key); !ok {
		t.Error("the first lost its cluster")
	}
	r.fleet.Disconnect(r.key)
	if err := r.fleet.Admit(other, cluster.ID); err != nil {
		t.Errorf("the cluster is free, and yet: %v", err)
	}
}

func TestWithdrawnAdmissionTakesTheClusterBack(t *testing.T) {
	r := newRig(t, timeouts())
	r.connected(shared.access(hostOf(t, shared.first)))
	r.fleet.Withdraw(r.key)
	r.eventually("the cluster is not handed out", func() bool {
		_, ok := r.fleet.Get(r.key)
		return !ok
	})
	if state, _ := r.fleet.State(r.key); state.Phase != Connected {
		t.Errorf("the connection ended with the admission: %+v", state)
	}
}

func TestAnswersOfWhoeverIsThereAreNotTrusted(t *testing.T) {
	for name, c := range map[string]struct{ identity, version string }{
		"identity is no label": {`{"metadata":{"uid":"` + strings.Repeat("x", 64) + `"}}`, `{"gitVersion":"v1.36.3"}`},
		"no identity":          {`{"metadata":{}}`, `{"gitVersion":"v1.36.3"}`},
		"no JSON":              {`<html>`, `{"gitVersion":"v1.36.3"}`},
		"endless version":      {`{"metadata":{"uid":"1"}}`, `{"gitVersion":"` + strings.Repeat("9", 1000) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				answer := c.identity
				if request.URL.Path == "/version" {
					answer = c.version
				}
				_, _ = w.Write([]byte(answer))
			}))
			server.EnableHTTP2 = true
			server.StartTLS()
			defer server.Close()
			r := newRig(t, timeouts())
			r.fleet.Connect(r.key, kubeconfig.Access{
				Server: server.URL, Token: token, CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			})
			r.eventually("it is refused", func() bool {
				state, _ := r.fleet.State(r.key)
				return state.Phase == Unreachable && strings.Contains(state.Message, "is this a Kubernetes API server?")
			})
		})
	}
}

func TestMessageIsTheSameInEveryAttempt(t *testing.T) {
	attempt := func(port int) error {
		return fmt.Errorf("TLS handshake: %w", &net.OpError{
			Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET),
			Source: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}, Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6443},
		})
	}
	if one, two := Describe(attempt(40001)), Describe(attempt(40002)); one != two {
		t.Errorf("%q is not %q", one, two)
	}
}
