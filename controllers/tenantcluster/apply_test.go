package tenantcluster

import (
	"context"
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// fakeConnections records what it is asked to do.
type fakeConnections struct {
	calls []string
	admit error
}

func (f *fakeConnections) Connect(types.NamespacedName, kubeconfig.Access) {
	f.calls = append(f.calls, "connect")
}
func (f *fakeConnections) Disconnect(types.NamespacedName) { f.calls = append(f.calls, "disconnect") }
func (f *fakeConnections) Forget(types.NamespacedName)     { f.calls = append(f.calls, "forget") }
func (f *fakeConnections) TryNow(types.NamespacedName)     { f.calls = append(f.calls, "try") }
func (f *fakeConnections) Withdraw(types.NamespacedName)   { f.calls = append(f.calls, "withdraw") }

func (f *fakeConnections) Renew(types.NamespacedName, kubeconfig.Access) {
	f.calls = append(f.calls, "renew")
}

func (f *fakeConnections) Get(types.NamespacedName) (*fleet.Cluster, bool) { return nil, false }

func (f *fakeConnections) Try(context.Context, kubeconfig.Access) (*fleet.Trial, error) {
	return nil, errors.New("nobody is to be tried")
}

func (f *fakeConnections) State(types.NamespacedName) (fleet.State, bool) {
	return fleet.State{Phase: fleet.Connecting}, true
}

func (f *fakeConnections) Admit(_ types.NamespacedName, identity types.UID) error {
	f.calls = append(f.calls, "admit "+string(identity))
	return f.admit
}

func TestApplyAsksTheFleetForWhatIsPlanned(t *testing.T) {
	for name, c := range map[string]struct {
		p     plan
		calls []string
	}{
		"nothing":    {plan{}, nil},
		"connect":    {plan{connection: connect}, []string{"connect"}},
		"disconnect": {plan{connection: disconnect}, []string{"disconnect"}},
		"swap":       {plan{connection: swapCredentials}, []string{"renew"}},
		"try now":    {plan{connection: tryNow}, []string{"try"}},
		"admit":      {plan{admission: admit, verdict: verdict{identity: "blue"}}, []string{"admit blue"}},
		"withdraw":   {plan{admission: withdraw}, []string{"withdraw"}},
	} {
		t.Run(name, func(t *testing.T) {
			o, connections := settled(), &fakeConnections{}
			c.p.clusterID = "blue"
			r := &reconciler{connections: connections}
			if done := r.apply(t.Context(), o, c.p); done.err != nil || done.released {
				t.Errorf("got %+v", done)
			}
			if !slices.Equal(connections.calls, c.calls) {
				t.Errorf("asked for %v, want %v", connections.calls, c.calls)
			}
		})
	}
}

func TestApplyTellsThatTheClusterIsClaimed(t *testing.T) {
	r := &reconciler{connections: &fakeConnections{admit: fleet.ErrClaimed}}
	o := settled()
	if done := r.apply(t.Context(), o, newPlan(o)); !done.claimed {
		t.Errorf("got %+v", done)
	}
}

func TestTryIsMadeOncePerRequest(t *testing.T) {
	r := &reconciler{connections: &fakeConnections{}}
	o := settled()
	ask := func(request string) {
		o.cluster.Annotations = map[string]string{metav1alpha1.AnnotationRequestedAt: request}
	}
	expect := func(what string, handled bool) {
		t.Helper()
		if got := r.memory.Of(o.key).isHandled(requestIn(o.cluster)); got != handled {
			t.Errorf("%s: handled is %t", what, got)
		}
	}
	expect("no request", true)
	ask("first")
	expect("a request", false)
	r.apply(t.Context(), o, plan{connection: connect, clusterID: "blue"})
	expect("a connection that is made anyway", true)
	ask("second")
	expect("another value", false)
	r.apply(t.Context(), o, plan{connection: tryNow, clusterID: "blue"})
	expect("after the try", true)
	o.cluster.Annotations = nil
	expect("a request that is taken back", true)
}

func TestConnectionIsMadeOncePerAccess(t *testing.T) {
	r := &reconciler{connections: &fakeConnections{}}
	o := settled()
	r.apply(t.Context(), o, plan{connection: connect, clusterID: "blue"})
	if !r.memory.Of(o.key).isLinked(o.credentials.access) {
		t.Error("the access is not known as the one in use")
	}
	other := o.credentials.access
	other.Token = "other"
	if r.memory.Of(o.key).isLinked(other) {
		t.Error("another access counts as the one in use")
	}
	r.apply(t.Context(), o, plan{connection: disconnect, clusterID: "blue"})
	if r.memory.Of(o.key).isLinked(o.credentials.access) {
		t.Error("the access counts as in use after it was given up")
	}
}
