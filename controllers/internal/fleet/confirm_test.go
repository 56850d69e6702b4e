package fleet

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/e2e/faults"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// balanced is the access to the first cluster by way of a balancer that ends TLS.
func balanced(t *testing.T) (*faults.Proxy, kubeconfig.Access) {
	t.Helper()
	balancer := faults.Start(t, balancedTo(shared.first))
	access, err := kubeconfig.Parse(balancer.Kubeconfig(), kubeconfig.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return balancer, access
}

func balancedTo(cluster *localfleet.Cluster) *rest.Config {
	config := rest.AnonymousClientConfig(cluster.Config())
	config.BearerToken = balancerToken
	return config
}

func lead(t *testing.T, balancer *faults.Proxy, to *localfleet.Cluster) {
	t.Helper()
	if err := balancer.Switch(balancedTo(to)); err != nil {
		t.Fatal(err)
	}
}

// expectUnwritten fails if the second cluster carried a write of the balancer out.
func expectUnwritten(t *testing.T) {
	t.Helper()
	for _, request := range requestsOf(t, shared.audit, balancerUser) {
		reads := slices.Contains([]string{"get", "list", "watch"}, request.Verb)
		if !reads && request.ResponseStatus.Code < http.StatusBadRequest {
			t.Errorf("the other cluster did: %s", request)
		}
	}
}

func TestConfirmNoticesAnotherClusterBehindAConnectionThatStays(t *testing.T) {
	r := newRig(t, timeouts())
	balancer, access := balanced(t)
	cluster := r.connected(access)
	object := r.watched(cluster)
	if err := cluster.Confirm(t.Context()); err != nil {
		t.Fatalf("the same cluster is not confirmed: %v", err)
	}
	lead(t, balancer, shared.second)
	if err := cluster.Confirm(t.Context()); !IsOtherCluster(err) {
		t.Fatalf("another cluster answers, and Confirm says: %v", err)
	}
	r.eventually("the other cluster is told of", func() bool {
		// A reconciler that still holds the cluster goes on writing.
		_, _ = cluster.Apply(t.Context(), configMapRef("new"), "", bodyOf("new"), true)
		state, _ := r.fleet.State(r.key)
		return state.Phase == Connected && state.Identity != cluster.ID
	})
	if _, ok := r.fleet.Get(r.key); ok {
		t.Error("the other cluster is handed out with the admission of the first")
	}
	if seen, _ := cluster.Tracker.Look(keyOf(object)); seen != nil {
		t.Errorf("what was seen is not forgotten: %+v", seen)
	}
	expectUnwritten(t)
	lead(t, balancer, shared.first)
	r.eventually("the first cluster is handed out again", func() bool {
		r.fleet.TryNow(r.key)
		again, ok := r.fleet.Get(r.key)
		return ok && again.ID == cluster.ID
	})
}

func configMapRef(name string) objects.Ref {
	return objects.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "default", Name: name}
}

func bodyOf(name string) []byte {
	return []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"},"data":{"key":"ours"}}`)
}

func TestAWriteThatNamesAUIDDoesNothingInAnotherCluster(t *testing.T) {
	limits := timeouts()
	limits.Probe = time.Hour // It would notice, too.
	r := newRig(t, limits)
	balancer, access := balanced(t)
	cluster := r.connected(access)
	there := kubernetes.NewForConfigOrDie(shared.second.Config())
	for _, name := range []string{"only-here", "in-both"} {
		if name == "in-both" {
			theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"key": "theirs"}}
			if _, err := there.CoreV1().ConfigMaps("default").Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		made, err := cluster.Apply(t.Context(), configMapRef(name), "", bodyOf(name), true)
		if err != nil {
			t.Fatal(err)
		}
		again, err := cluster.Apply(t.Context(), configMapRef(name), made.UID, bodyOf(name), true)
		if err != nil || again.ResourceVersion != made.ResourceVersion {
			t.Errorf("%s is not applied again in its own cluster: %v", name, err)
		}
		patch := []byte(`[{"op":"add","path":"/metadata/annotations","value":{"a":"b"}}]`)
		if _, err := cluster.Patch(t.Context(), configMapRef(name), made.UID, patch); err != nil {
			t.Errorf("%s is not patched in its own cluster: %v", name, err)
		}
		lead(t, balancer, shared.second)
		if _, err := cluster.Apply(t.Context(), configMapRef(name), made.UID, bodyOf(name), true); !IsAnother(err) {
			t.Errorf("apply %s in another cluster: %v", name, err)
		}
		if _, err := cluster.Patch(t.Context(), configMapRef(name), made.UID, patch); err == nil {
			t.Errorf("%s was patched in another cluster", name)
		}
		lead(t, balancer, shared.first)
	}
	expectUnwritten(t)
}

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
			return transport.ErrOtherCluster
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
