package addonrelease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daytwo-dev/daytwo/apis"
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/fleettest"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const (
	installation = "test-installation"
	tenantName   = "prod"
	// customers is the namespace of a customer's releases, provider that of the provider's.
	customers = "default"
	provider  = "daytwo-system"
	deadline  = 3 * time.Minute
)

// env is what the tests of this package share: a management cluster with the controller running
// against it, and one workload cluster, which the tests connect in place of the TenantCluster
// controller.
type env struct {
	fleet       *localfleet.Fleet
	connections *fleet.Fleet
	// management and workload may do anything in their cluster.
	management, workload client.Client
	config               *rest.Config
	workloadConfig       *rest.Config
	// rivalConfig is of a cluster where Helm does what Daytwo does in the other.
	rivalConfig *rest.Config
	reconciler  *Reconciler
	registry    *prometheus.Registry
}

var shared env

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == render.WorkerArgument {
		os.Exit(render.WorkerMain(os.Args[2:]))
	}
	os.Exit(fixture.Main(m, 4, shared.start))
}

func (w *env) start(ctx context.Context, dir string) (end func() error, err error) {
	w.fleet, err = fixture.StartFleet(ctx, dir, localfleet.Options{Clusters: 2}, "../../config/crd/bases")
	if err != nil {
		return nil, err
	}
	mgr, err := w.prepare(ctx)
	if err != nil {
		return w.fleet.Close, err
	}
	stop := fixture.Background(mgr.Start)
	return func() error {
		defer w.connections.Close()
		return errors.Join(stop(), w.fleet.Close())
	}, nil
}

func (w *env) prepare(ctx context.Context) (ctrl.Manager, error) {
	scheme := apis.NewScheme()
	workload, err := w.fleet.Cluster("workload-1")
	if err != nil {
		return nil, err
	}
	rival, err := w.fleet.Cluster("workload-2")
	if err != nil {
		return nil, err
	}
	w.rivalConfig = rival.Config()
	w.config = w.fleet.Management().Config()
	if w.management, err = client.New(w.config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	if w.workload, err = client.New(workload.Config(), client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(w.config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return nil, err
	}
	rules := managedfields.DefaultRules(installation)
	timeouts := fleet.DefaultTimeouts()
	timeouts.KindPatience, timeouts.RetryMax = time.Second, 3*time.Second // What fails is told, and tried again, soon.
	w.connections = fleet.New(fleet.Options{
		Installation: installation, Rules: rules, Timeouts: timeouts,
		Guard: fleettest.Anywhere, Metrics: fleet.NewMetrics(prometheus.NewRegistry()), Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	w.registry = prometheus.NewRegistry()
	r := newReconciler(mgr, w.connections, rules, w.registry)
	w.reconciler, w.workloadConfig = r, workload.Config()
	if err := r.SetupWithManager(mgr, target.Options{StatusPause: throttle.Health}); err != nil {
		return nil, err
	}
	if err := w.management.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: provider}}); err != nil {
		return nil, err
	}
	if err := w.createTenant(ctx, tenantName); err != nil {
		return nil, err
	}
	return mgr, w.connect(ctx, workload)
}

func newReconciler(mgr ctrl.Manager, connections *fleet.Fleet, rules managedfields.Rules, registry *prometheus.Registry) *Reconciler {
	return &Reconciler{
		Room: &Room{
			Targets: targets.Registry{TargetKind()}, ProviderNamespace: provider,
			Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Fleet: connections, Recorder: &events.FakeRecorder{},
			Orphans: orphans.Records{Reader: mgr.GetAPIReader(), Writer: mgr.GetClient()},
			Metrics: target.NewMetrics(registry), Log: mgr.GetLogger(),
		},
		Renderer: render.NewPool(render.Options{}), Rules: rules, Installation: installation, Clock: clock.RealClock{},
		WebhookPatience: time.Second,
	}
}

// connect plays the TenantCluster controller.
func (w *env) connect(ctx context.Context, workload *localfleet.Cluster) error {
	access, err := kubeconfig.Parse(workload.Kubeconfig(), kubeconfig.Options{})
	if err != nil {
		return err
	}
	system := &corev1.Namespace{}
	if err := w.workload.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		return err
	}
	key := types.NamespacedName{Namespace: "default", Name: tenantName}
	w.connections.Connect(key, access)
	return w.connections.Admit(key, system.UID)
}

// createTenant makes a TenantCluster that is said to be connected.
func (w *env) createTenant(ctx context.Context, name string) error {
	return w.createTenantIn(ctx, "default", name)
}

func (w *env) createTenantIn(ctx context.Context, namespace, name string) error {
	tenant := &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: "access"}},
	}
	if err := w.management.Create(ctx, tenant); err != nil {
		return err
	}
	meta.SetStatusCondition(&tenant.Status.Conditions, metav1.Condition{
		Type: tenancyv1alpha1.ConditionConnected, Status: metav1.ConditionTrue, Reason: "Test",
	})
	return w.management.Status().Update(ctx, tenant)
}

// addon is an AddonRelease with its revisions, as the SaaSAddon controller would write them.
type addon struct {
	t    *testing.T
	name string
	// home is the namespace of the release, namespace that of its objects.
	home, namespace string
	// policy stands in for the SaaSAddon that owns the revisions.
	policy *corev1.ConfigMap
}

// newAddon starts a release of the given manifests in a namespace of its own.
func newAddon(t *testing.T, text string, change ...func(*addonsv1alpha1.AddonReleaseSpec)) *addon {
	t.Helper()
	return newAddonIn(t, "", text, change...)
}

// newAddonIn starts a release in a given namespace.
func newAddonIn(t *testing.T, namespace, text string, change ...func(*addonsv1alpha1.AddonReleaseSpec)) *addon {
	t.Helper()
	a := declareAddon(t, namespace)
	a.start(a.revision(text), change...)
	return a
}

// declareAddon stands for a customer's add-on of which there is no release yet.
func declareAddon(t *testing.T, namespace string) *addon {
	t.Helper()
	return declareAddonOf(t, customers, namespace)
}

// declareAddonOf is declareAddon for any namespace of the management cluster.
func declareAddonOf(t *testing.T, home, namespace string) *addon {
	t.Helper()
	name := strings.ToLower(t.Name())
	if len(name) > 40 {
		name = name[len(name)-40:]
	}
	a := &addon{t: t, home: home, name: strings.Trim(strings.NewReplacer("/", "-", "_", "-").Replace(name), "-")}
	if a.namespace = namespace; namespace == "" {
		a.namespace = a.name
	}
	a.policy = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: a.name}}
	if err := shared.management.Create(t.Context(), a.policy); err != nil {
		t.Fatal(err)
	}
	return a
}

// start makes the release, at a revision.
func (a *addon) start(revision string, change ...func(*addonsv1alpha1.AddonReleaseSpec)) {
	a.t.Helper()
	release := &addonsv1alpha1.AddonRelease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: a.home, Name: a.name, Finalizers: []string{metav1alpha1.FinalizerTarget},
			Labels: map[string]string{metav1alpha1.LabelPolicy: a.name, metav1alpha1.LabelCluster: tenantName, metav1alpha1.LabelClusterNamespace: "default"},
		},
		Spec: addonsv1alpha1.AddonReleaseSpec{
			TargetSpec: metav1alpha1.TargetSpec{
				ClusterRef: metav1alpha1.ClusterReference{Namespace: "default", Name: tenantName},
				Revision:   revision,
				Cluster:    metav1alpha1.ClusterParameters{Version: "1.36", Labels: map[string]string{"tier": "gold"}},
			},
		},
	}
	for _, c := range change {
		c(&release.Spec)
	}
	if err := shared.management.Create(a.t.Context(), release); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(a.cleanUp)
}

func (a *addon) revision(text string) string {
	a.t.Helper()
	return a.revisionOf(addoncontent.Content{
		Namespace: a.namespace, CreateNamespace: true, Sources: []render.Source{{Name: "inline", Text: text}},
	})
}

func (a *addon) revisionOf(content addoncontent.Content) string {
	a.t.Helper()
	snapshot, err := revision.EncodeSnapshot(a.name, content)
	if err != nil {
		a.t.Fatal(err)
	}
	owner := revision.Owner{APIVersion: "v1", Kind: "ConfigMap", Object: a.policy}
	if err := revision.Write(a.t.Context(), shared.management, shared.management, owner, snapshot); err != nil {
		a.t.Fatal(err)
	}
	return snapshot.Name
}

func (a *addon) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	release := a.get()
	for _, object := range []client.Object{release, a.policy} {
		if err := client.IgnoreNotFound(shared.management.Delete(ctx, object)); err != nil {
			a.t.Error(err)
		}
	}
	eventually(a.t, "the release is gone", func() (bool, string) {
		err := shared.management.Get(ctx, client.ObjectKeyFromObject(release), release)
		return client.IgnoreNotFound(err) == nil && err != nil, describeConditions(release)
	})
}

func (a *addon) get() *addonsv1alpha1.AddonRelease {
	release := &addonsv1alpha1.AddonRelease{}
	release.Namespace, release.Name = a.home, a.name
	if err := client.IgnoreNotFound(shared.management.Get(context.Background(), client.ObjectKeyFromObject(release), release)); err != nil {
		a.t.Error(err)
	}
	return release
}

// change updates the spec.
func (a *addon) change(mutate func(*addonsv1alpha1.AddonRelease)) {
	a.t.Helper()
	release := a.get()
	before := release.DeepCopy()
	mutate(release)
	if err := shared.management.Patch(a.t.Context(), release, client.MergeFrom(before)); err != nil {
		a.t.Fatal(err)
	}
}

// apply moves the release to a new revision.
func (a *addon) apply(text string) {
	a.t.Helper()
	name := a.revision(text)
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Revision = name })
}

// waitFor waits until a condition of the current generation is as wanted, and returns the release.
func (a *addon) waitFor(condition string, is metav1.ConditionStatus, reason string) *addonsv1alpha1.AddonRelease {
	a.t.Helper()
	var release *addonsv1alpha1.AddonRelease
	eventually(a.t, fmt.Sprintf("%s is %s, %s", condition, is, reason), func() (bool, string) {
		release = a.get()
		found := meta.FindStatusCondition(release.Status.Conditions, condition)
		return found != nil && found.Status == is && found.Reason == reason && found.ObservedGeneration == release.Generation &&
			(is != metav1.ConditionTrue || condition != metav1alpha1.ConditionReady || release.Status.Revision == release.Spec.Revision), describeConditions(release)
	})
	return release
}

func (a *addon) waitReady() *addonsv1alpha1.AddonRelease {
	a.t.Helper()
	return a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
}

func describeConditions(release *addonsv1alpha1.AddonRelease) string {
	var text strings.Builder
	for _, c := range release.Status.Conditions {
		fmt.Fprintf(&text, "\n  %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return text.String()
}

// eventually waits until a check holds; what it says otherwise tells why it did not.
func eventually(t *testing.T, what string, check func() (bool, string)) {
	t.Helper()
	expect.Eventually(t, what, func(context.Context) error {
		if ok, instead := check(); !ok {
			return errors.New(instead)
		}
		return nil
	})
}
