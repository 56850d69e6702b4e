package controllers

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daytwo-dev/daytwo/apis"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == RenderWorker {
		os.Exit(RenderWorkerMain(os.Args[2:]))
	}
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// crashEnv is two API servers behind failpoints, and a manager that can be put an end to.
type crashEnv struct {
	t         *testing.T
	fleet     *localfleet.Fleet
	failpoint *failpoint
	// management and workload are used by people, whom no failpoint stops.
	management, workload client.WithWatch
	workloadConfig       *rest.Config
	// managementProxy and workloadProxy are how the manager gets there.
	managementProxy, workloadProxy *proxy
	// limits of requests to the management cluster.
	limits RequestLimits
	// setUp adds the controllers to a manager; SetupAll.
	setUp func(context.Context, ctrl.Manager, Options) (end func(), err error)
	// served is what the managers know of the kinds that clusters serve.
	served ServedKinds
	// explain tells what is the matter where a test fails; nil for nothing more.
	explain func() string
	// log is what the managers said lately.
	log *latest
	// rest is how many times in a row an undisturbed run has to be found at the same end, with nothing written between; 0 for once.
	rest int

	stop  context.CancelFunc
	ended chan error
}

// newCrashEnv has a workload cluster that is registered as prod.
func newCrashEnv(t *testing.T) *crashEnv {
	t.Helper()
	w := newEmptyEnv(t)
	w.register(w.workloadProxy.kubeconfig(t))
	w.start()
	return w
}

// newEmptyEnv has a workload cluster that nobody knows, and no manager yet.
func newEmptyEnv(t *testing.T) *crashEnv {
	t.Helper()
	return newEmptyEnvOf(t, 1)
}

// newEmptyEnvOf has several workload clusters, the first of which is the env's.
func newEmptyEnvOf(t *testing.T, clusters int) *crashEnv {
	t.Helper()
	return newEmptyEnvWith(t, localfleet.Options{Clusters: clusters, ClusterOptions: localfleet.ClusterOptions{Bare: true}})
}

// newEmptyEnvWith has a fleet with what the options say.
func newEmptyEnvWith(t *testing.T, options localfleet.Options) *crashEnv {
	t.Helper()
	options.StateDir, options.Progress = stateDir(t), os.Stderr
	fleet, err := localfleet.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
	cluster, err := fleet.Cluster("workload-1")
	if err != nil {
		t.Fatal(err)
	}
	w := &crashEnv{
		t: t, fleet: fleet, failpoint: newFailpoint(anyWrite), workloadConfig: cluster.Config(), limits: DefaultRequestLimits(), log: &latest{}, setUp: SetupAll,
	}
	w.management, w.workload = newClient(t, fleet.Management()), newClient(t, cluster)
	for _, path := range []string{"../config/crd/bases", "../config/manager/namespace.yaml"} {
		objects, err := manifests.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := manifests.Apply(t.Context(), fleet.Management().Config(), objects); err != nil {
			t.Fatal(err)
		}
	}
	w.managementProxy, w.workloadProxy = newProxy(t, fleet.Management().Config(), w.failpoint), newProxy(t, cluster.Config(), w.failpoint)
	return w
}

// stateDir is a directory with a short name: that of a test is too long for the sockets of Velero's plugins.
func stateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "crash")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func newClient(t *testing.T, cluster *localfleet.Cluster) client.WithWatch {
	t.Helper()
	made, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: apis.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (w *crashEnv) register(kubeconfig []byte) {
	w.t.Helper()
	w.registerAs("prod", "access", kubeconfig)
}

// registerAs makes a TenantCluster whose kubeconfig is in a Secret.
func (w *crashEnv) registerAs(name, secret string, kubeconfig []byte) {
	w.t.Helper()
	for _, object := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: secret}, Data: map[string][]byte{"value": kubeconfig}},
		&tenancyv1alpha1.TenantCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: secret}},
		},
	} {
		if err := w.management.Create(w.t.Context(), object); err != nil {
			w.t.Fatal(err)
		}
	}
}

// start starts the first manager, and ends the last one after the test.
func (w *crashEnv) start() {
	w.t.Helper()
	w.begin()
	w.t.Cleanup(func() { w.end() })
}

// begin starts a manager that knows nothing of the one before.
func (w *crashEnv) begin() {
	w.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	mgr, err := ctrl.NewManager(ManagementConfig(w.managementProxy.config(), w.limits, nil), ctrl.Options{
		Scheme:     apis.NewScheme(),
		Logger:     w.log.logger(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      CacheOptions(nil),
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	identity, err := ManagementIdentity(ctx, mgr.GetAPIReader())
	if err != nil {
		w.t.Fatal(err)
	}
	end, err := w.setUp(ctx, mgr, Options{
		Installation: identity, ServedKinds: &w.served,
		ProviderNamespace: "daytwo-system", ControllerManagers: DefaultControllerManagers(),
		AllowPrivateSources: true, AllowPrivateStorage: true, AllowLoopbackClusters: true, Registry: prometheus.NewRegistry(), Log: w.log.logger(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	w.stop, w.ended = stop, ended
	go func() {
		err := mgr.Start(ctx)
		end()
		ended <- err
	}()
}

func (w *crashEnv) end() {
	w.stop()
	<-w.ended // Whatever it says, it is dead.
}

// restarted starts the next manager, which the API servers hear again.
func (w *crashEnv) restarted() {
	w.t.Helper()
	w.failpoint.arm(forever)
	w.begin()
}

// blows waits until the failpoint was met, or until everything was done without that, and returns which.
func (w *crashEnv) blows(blown <-chan struct{}, undone func() string) bool {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 3*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		select {
		case <-blown:
			return true
		default:
		}
		if undone() == "" {
			return w.failpoint.disarm()
		}
		pause(ctx)
	}
	w.giveUp("neither done nor dead: " + undone())
	return false
}

// await waits until nothing is undone any more.
func (w *crashEnv) await(undone func() string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 3*time.Minute)
	defer cancel()
	for why := undone(); why != ""; why = undone() {
		if pause(ctx); ctx.Err() != nil {
			w.giveUp(why)
		}
	}
}

// giveUp fails the test, and tells why. It disarms the failpoint first: a manager whose requests are not answered takes long to end.
func (w *crashEnv) giveUp(why string) {
	w.t.Helper()
	w.failpoint.arm(forever)
	if w.explain != nil {
		why += w.explain()
	}
	w.t.Fatal(why)
}

// latest keeps the last lines of a log.
type latest struct {
	mu    sync.Mutex
	lines []string
}

func (l *latest) logger() logr.Logger {
	return funcr.New(func(_, line string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.lines) >= 2000 {
			l.lines = slices.Delete(l.lines, 0, 1000)
		}
		l.lines = append(l.lines, line)
	}, funcr.Options{Verbosity: 1, LogTimestamp: true})
}

// about returns the last lines that have a word.
func (l *latest) about(word string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := slices.DeleteFunc(slices.Clone(l.lines), func(line string) bool { return !strings.Contains(line, word) })
	return strings.Join(found[max(0, len(found)-20):], "\n  ")
}

// wrong begins what no end may say, not even that of an undisturbed run.
const wrong = "wrong: "

// endsOtherwise compares an end with that of an undisturbed run; that one is not known yet if want is empty.
func endsOtherwise(end, want string) string {
	if strings.Contains(end, wrong) || want != "" && end != want {
		return fmt.Sprintf("it ends otherwise:\n%s\nundisturbed:\n%s", end, want)
	}
	return ""
}

func pause(ctx context.Context) {
	timer := time.NewTimer(40 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
