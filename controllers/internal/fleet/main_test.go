package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/internal/netguard"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const (
	installation = "test"
	// token is good in both clusters, so that only the identity tells them apart.
	token = "good-in-both"
	user  = "daytwo-test"
	// balancerToken is good in both clusters too, for a balancer in front of them.
	balancerToken = "balanced-to-both"
	balancerUser  = "daytwo-balancer"
	// patience is far longer than anything takes on an idle machine.
	patience = 3 * time.Minute
)

var (
	configMaps = schema.GroupKind{Kind: "ConfigMap"}
	settings   = objects.Key{GroupKind: configMaps, Namespace: "cache", Name: "settings"}
	release    = tracker.Owner{Kind: "AddonRelease", NamespacedName: types.NamespacedName{Namespace: "acme", Name: "cache-prod"}}
)

// env is two API servers that take the same token. That of the second one keeps an audit log.
type env struct {
	first, second *localfleet.Cluster
	audit         string
}

var shared env

func TestMain(m *testing.M) {
	os.Exit(fixture.Main(m, 0, func(ctx context.Context, dir string) (end func() error, err error) {
		bare := localfleet.Options{ClusterOptions: localfleet.ClusterOptions{Bare: true}}
		servers, err := fixture.StartFleet(ctx, filepath.Join(dir, "fleet"), bare)
		if err != nil {
			return nil, err
		}
		return servers.Close, shared.start(ctx, servers, dir)
	}))
}

func (w *env) start(ctx context.Context, servers *localfleet.Fleet, dir string) (err error) {
	tokens, policy := filepath.Join(dir, "tokens.csv"), filepath.Join(dir, "policy.yaml")
	w.audit = filepath.Join(dir, "audit.log")
	for file, content := range map[string]string{
		tokens: token + "," + user + ",1,system:masters\n" + balancerToken + "," + balancerUser + ",2,system:masters\n",
		policy: "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return err
		}
	}
	// The highest chance of a GOAWAY that the API server permits: all tests live with it.
	first := []string{"--token-auth-file=" + tokens, "--goaway-chance=0.02"}
	if w.first, err = servers.AddCluster(ctx, "first", localfleet.ClusterOptions{Bare: true, APIServerArgs: first}); err != nil {
		return err
	}
	second := []string{"--token-auth-file=" + tokens, "--audit-policy-file=" + policy, "--audit-log-path=" + w.audit}
	w.second, err = servers.AddCluster(ctx, "second", localfleet.ClusterOptions{Bare: true, APIServerArgs: second})
	return err
}

// access by way of an address, with the CAs of both clusters.
func (w *env) access(address string) kubeconfig.Access {
	return kubeconfig.Access{
		Server: "https://" + address, TLSServerName: "127.0.0.1", Token: token,
		CAData: append(append([]byte{}, w.first.Config().CAData...), w.second.Config().CAData...),
	}
}

// timeouts notice everything within a few seconds.
func timeouts() Timeouts {
	return Timeouts{
		Connect: 3 * time.Second, PingAfter: time.Second, Ping: time.Second, Probe: 5 * time.Second,
		Patience: 2 * time.Second, RetryMax: 2 * time.Second, Request: 5 * time.Second,
		KindPatience: time.Second, WatchSilence: time.Hour,
	}
}

// patient are for tests in which a connection is not to be lost, whatever else the machine does.
func patient() Timeouts {
	limits := timeouts()
	limits.Connect, limits.Request = time.Minute, time.Minute
	limits.PingAfter, limits.Ping, limits.Patience = time.Minute, time.Minute, time.Minute
	return limits
}

// anywhere permits the loopback addresses that the API servers of tests have.
func anywhere(types.NamespacedName) netguard.Guard { return netguard.Guard{Rule: netguard.All} }

// rig is a fleet of one test.
type rig struct {
	*testing.T
	fleet *Fleet
	key   types.NamespacedName
	admin kubernetes.Interface
}

func newRig(t *testing.T, limits Timeouts) *rig {
	t.Helper()
	r := &rig{
		T: t, key: types.NamespacedName{Namespace: "acme", Name: "prod"}, admin: kubernetes.NewForConfigOrDie(shared.first.Config()),
		fleet: New(Options{
			Installation: installation, Rules: managedfields.DefaultRules(installation), Timeouts: limits, Guard: anywhere,
			Metrics: NewMetrics(prometheus.NewRegistry()), Clock: clock.RealClock{}, Log: logr.Discard(),
		}),
	}
	t.Cleanup(func() { r.fleet.Forget(r.key) })
	return r
}

func (r *rig) eventually(what string, check func() bool) {
	r.Helper()
	expect.EventuallyIn(r.Context(), r, what, func(context.Context) error {
		if check() {
			return nil
		}
		state, _ := r.fleet.State(r.key)
		return fmt.Errorf("the connection is %+v", state)
	})
}

// connected connects, admits whoever is there, and returns the cluster.
func (r *rig) connected(access kubeconfig.Access) *Cluster {
	r.Helper()
	r.fleet.Connect(r.key, access)
	r.admitted()
	cluster, _ := r.fleet.Get(r.key)
	return cluster
}

func (r *rig) admitted() {
	r.Helper()
	r.eventually("the cluster is handed out", func() bool {
		if state, _ := r.fleet.State(r.key); state.Phase == Connected {
			if err := r.fleet.Admit(r.key, state.Identity); err != nil {
				r.Fatal(err)
			}
		}
		_, ok := r.fleet.Get(r.key)
		return ok
	})
}

// watched claims a ConfigMap of the first cluster, watches it, and makes it.
func (r *rig) watched(cluster *Cluster) *corev1.ConfigMap {
	r.Helper()
	object, err := r.admin.CoreV1().ConfigMaps("default").Create(r.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "watched-", Labels: map[string]string{metav1alpha1.LabelManagedBy: installation},
	}}, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	cluster.Tracker.Claim(release, keyOf(object))
	if err := cluster.Watch(r.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}); err != nil {
		r.Fatal(err)
	}
	r.seen(cluster.Tracker, object)
	return object
}

// seen waits until a tracker knows of the newest version of an object.
func (r *rig) seen(tracker *tracker.Tracker, object *corev1.ConfigMap) {
	r.Helper()
	r.eventually("the watch sees "+object.Name, func() bool {
		seen, _ := tracker.Look(keyOf(object))
		return seen != nil && seen.ResourceVersion == object.ResourceVersion
	})
}

// edit changes an object behind Daytwo's back.
func (r *rig) edit(object *corev1.ConfigMap) *corev1.ConfigMap {
	r.Helper()
	patch := fmt.Sprintf(`{"data":{"edited":%q}}`, time.Now())
	edited, err := r.admin.CoreV1().ConfigMaps("default").Patch(r.Context(), object.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return edited
}
