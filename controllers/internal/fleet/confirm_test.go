package fleet

import (
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/e2e/tlsproxy"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// balancer ends TLS in front of the first cluster. Requests keep their own credentials.
func balancer(t *testing.T) (*tlsproxy.Proxy, kubeconfig.Access) {
	t.Helper()
	proxy, err := tlsproxy.Start(anonymous(shared.first))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy, kubeconfig.Access{Server: "https://" + proxy.Address(), Token: token, CAData: proxy.CA()}
}

func anonymous(cluster *localfleet.Cluster) *rest.Config {
	return rest.AnonymousClientConfig(cluster.Config())
}

func lead(t *testing.T, proxy *tlsproxy.Proxy, to *localfleet.Cluster) {
	t.Helper()
	if err := proxy.Lead(anonymous(to)); err != nil {
		t.Fatal(err)
	}
}

func TestConfirmNoticesAnotherClusterBehindAConnectionThatStays(t *testing.T) {
	r := newRig(t, timeouts())
	proxy, access := balancer(t)
	cluster := r.connected(access)
	object := r.watched(cluster)
	if err := cluster.Confirm(t.Context()); err != nil {
		t.Fatalf("the same cluster is not confirmed: %v", err)
	}
	connections := proxy.Connections()
	lead(t, proxy, shared.second)
	if err := cluster.Confirm(t.Context()); !IsOtherCluster(err) {
		t.Fatalf("another cluster answers, and Confirm says: %v", err)
	}
	if now := proxy.Connections(); now != connections {
		t.Errorf("the other cluster was reached over a connection of its own (%d instead of %d)", now, connections)
	}
	r.eventually("the other cluster is told of", func() bool {
		// A reconciler that still holds the cluster goes on writing.
		_, _ = cluster.Apply(t.Context(), newConfigMap, []byte(newBody), true)
		state, _ := r.fleet.State(r.key)
		return state.Phase == Connected && state.Identity != cluster.ID
	})
	if _, ok := r.fleet.Get(r.key); ok {
		t.Error("the other cluster is handed out with the admission of the first")
	}
	if seen, _ := cluster.Tracker.Look(keyOf(object)); seen != nil {
		t.Errorf("what was seen is not forgotten: %+v", seen)
	}
	for _, request := range proxy.Requests(shared.second.Endpoint()) {
		if request.Method != "GET" {
			t.Errorf("the other cluster got: %s", request)
		}
	}
	lead(t, proxy, shared.first)
	r.eventually("the first cluster is handed out again", func() bool {
		again, ok := r.fleet.Get(r.key)
		return ok && again.ID == cluster.ID
	})
}

var newConfigMap = objects.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "default", Name: "must-not-arrive"}

const newBody = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"must-not-arrive"}}`

func TestConfirmationsBeginAfterTheirCallsAndAreShared(t *testing.T) {
	const callers = 20
	var shared confirmations
	var begun atomic.Int64
	begins, held := make(chan struct{}), make(chan struct{})
	first := shared.join(func() error {
		begun.Add(1)
		close(begins)
		<-held
		return nil
	})
	<-begins
	var group sync.WaitGroup
	for range callers {
		one := shared.join(func() error {
			begun.Add(1)
			return errOtherCluster
		})
		if one == first {
			t.Fatal("a caller was given a confirmation that had begun before the call")
		}
		group.Go(func() {
			<-one.done
			if one.err == nil {
				t.Error("a caller was given the answer to another request")
			}
		})
	}
	close(held)
	group.Wait()
	if requests := begun.Load(); requests != 2 {
		t.Errorf("%d requests for %d callers that came during the first one, want 1 beside that", requests-1, callers)
	}
}
