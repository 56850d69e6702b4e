package orphanrecord

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/daytwo-dev/daytwo/apis"
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/fleettest"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const (
	installation = "test-installation"
	tenantName   = "prod"
)

// env is what the tests of this package share: a management cluster without any controller, and a workload
// cluster. Each test has a namespace, a connection and a reconciler of its own.
type env struct {
	management, workload client.Client
	// as is a client of the management cluster for a user.
	as       func(user string) (client.Client, error)
	access   kubeconfig.Access
	config   *rest.Config
	identity types.UID
	tests    atomic.Int64
}

var shared env

func TestMain(m *testing.M) {
	os.Exit(fixture.Main(m, 0, func(ctx context.Context, dir string) (end func() error, err error) {
		servers, err := fixture.StartFleet(ctx, dir, localfleet.Options{Clusters: 1}, "../../config/crd/bases", "../../config/admission/manager_only.yaml")
		if err != nil {
			return nil, err
		}
		return servers.Close, shared.prepare(ctx, servers)
	}))
}

func (w *env) prepare(ctx context.Context, servers *localfleet.Fleet) error {
	scheme := apis.NewScheme()
	workload, err := servers.Cluster("workload-1")
	if err != nil {
		return err
	}
	if w.management, err = client.New(servers.Management().Config(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if w.workload, err = client.New(workload.Config(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	w.as = func(user string) (client.Client, error) {
		config := servers.Management().Config()
		config.Impersonate.UserName = user
		return client.New(config, client.Options{Scheme: scheme})
	}
	w.config = workload.Config()
	if w.access, err = kubeconfig.Parse(workload.Kubeconfig(), kubeconfig.Options{}); err != nil {
		return err
	}
	system := &corev1.Namespace{}
	err = w.workload.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system)
	w.identity = system.UID
	return err
}

// rig is a namespace of the management cluster, and one of the same name in the workload cluster.
type rig struct {
	*testing.T
	namespace  string
	tenant     *tenancyv1alpha1.TenantCluster
	reconciler *Reconciler
	clock      *testingclock.FakeClock
	recorder   *events.FakeRecorder
	registry   *prometheus.Registry
}

// newRig registers the workload cluster, which has been Ready for an hour.
func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigBy(t, shared.access)
}

// newRigBy reaches it in another way.
func newRigBy(t *testing.T, access kubeconfig.Access) *rig {
	t.Helper()
	r := &rig{
		T: t, namespace: fmt.Sprintf("acme-%d", shared.tests.Add(1)), clock: testingclock.NewFakeClock(time.Now()),
		recorder: events.NewFakeRecorder(1000), registry: prometheus.NewRegistry(),
	}
	for _, cluster := range []client.Client{shared.management, shared.workload} {
		r.must(cluster.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}))
	}
	r.tenant = &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: tenantName},
		Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: "access"}},
	}
	r.must(shared.management.Create(t.Context(), r.tenant))
	r.tenant.Status.ClusterID = string(shared.identity)
	r.tenant.Status.Conditions = []metav1.Condition{{
		Type: metav1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour)),
	}}
	r.must(shared.management.Status().Update(t.Context(), r.tenant))
	r.reconciler = &Reconciler{
		Client: shared.management, Reader: shared.management, Fleet: r.connect(access), Installation: installation, HeadStart: time.Minute,
		Targets:  targets.Registry{addonrelease.TargetKind()},
		Orphans:  orphans.Records{Reader: shared.management, Writer: shared.management},
		Recorder: r.recorder, Metrics: NewMetrics(r.registry), Clock: r.clock, Log: logr.Discard(),
	}
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) key() types.NamespacedName { return client.ObjectKeyFromObject(r.tenant) }

func (r *rig) connect(access kubeconfig.Access) *fleet.Fleet {
	connections := fleet.New(fleet.Options{
		Installation: installation, Rules: managedfields.DefaultRules(installation), Timeouts: fleet.DefaultTimeouts(),
		Guard: fleettest.Anywhere, Metrics: fleet.NewMetrics(prometheus.NewRegistry()), Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	r.Cleanup(connections.Close)
	connections.Connect(r.key(), access)
	r.must(connections.Admit(r.key(), shared.identity))
	r.eventually("the cluster is connected", func() error {
		if _, connected := connections.Get(r.key()); !connected {
			state, _ := connections.State(r.key())
			return fmt.Errorf("%+v", state)
		}
		return nil
	})
	return connections
}

// make creates an object in the workload cluster that is labelled as ours, and returns how a record names it.
func (r *rig) make(object client.Object) tenancyv1alpha1.OrphanObject {
	r.Helper()
	if object.GetLabels() == nil {
		object.SetLabels(map[string]string{})
	}
	object.GetLabels()[metav1alpha1.LabelManagedBy] = installation
	r.must(shared.workload.Create(r.Context(), object))
	return r.orphanOf(object)
}

func (r *rig) orphanOf(object client.Object) tenancyv1alpha1.OrphanObject {
	r.Helper()
	kind, err := apiutil.GVKForObject(object, shared.workload.Scheme())
	r.must(err)
	ref := objects.Ref{GroupVersionKind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	return tenancyv1alpha1.OrphanObject{ID: ref.ID(), UID: string(object.GetUID())}
}

func (r *rig) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}}
}

// left is of the cluster, in its old name.
func (r *rig) left(list ...tenancyv1alpha1.OrphanObject) tenancyv1alpha1.OrphanRecordSpec {
	return tenancyv1alpha1.OrphanRecordSpec{
		ClusterName: "before", ClusterID: string(shared.identity), Objects: list, Reason: tenancyv1alpha1.OrphanUnreachable, Message: "it did not answer",
		Owner: tenancyv1alpha1.OrphanOwner{Group: "addons.daytwo.dev", Kind: "AddonRelease", Namespace: r.namespace, Name: "cache-before", Policy: "cache"},
	}
}

func (r *rig) record(list ...tenancyv1alpha1.OrphanObject) {
	r.Helper()
	r.must(r.reconciler.Orphans.Write(r.Context(), r.namespace, r.left(list...)))
}

func (r *rig) records() []tenancyv1alpha1.OrphanRecord {
	r.Helper()
	records := &tenancyv1alpha1.OrphanRecordList{}
	r.must(shared.management.List(r.Context(), records, client.InNamespace(r.namespace)))
	return records.Items
}

// reconcile once, when everything that was tried is due again, and return the records then.
func (r *rig) reconcile() []tenancyv1alpha1.OrphanRecord {
	r.Helper()
	r.clock.Step(retryLast)
	_, err := r.reconciler.Reconcile(r.Context(), requestFor(r.namespace))
	r.must(err)
	return r.records()
}

// settle reconciles until the records are as wanted, an object a line with why it is there, and stay so.
func (r *rig) settle(want ...string) {
	r.Helper()
	r.eventually("the records have settled", func() error {
		records := r.reconcile()
		if again := r.reconcile(); describe(again) != describe(records) {
			return fmt.Errorf("they have %s, and then %s", describe(records), describe(again))
		}
		if got := describe(records); got != strings.Join(want, "\n") {
			return fmt.Errorf("they have:\n%s", got)
		}
		return nil
	})
}

func describe(records []tenancyv1alpha1.OrphanRecord) string {
	var lines []string
	for _, record := range records {
		for _, object := range record.Spec.Objects {
			ref, err := objects.ParseID(object.ID)
			text := ref.Kind + " " + ref.Name
			if err != nil {
				text = object.ID
			}
			if object.Message != "" {
				text += ": " + object.Message
			}
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n")
}

// expectSwept wants the one record to say how far its sweep is.
func (r *rig) expectSwept(reason string, parts ...string) {
	r.Helper()
	records := r.records()
	if len(records) != 1 {
		r.Fatalf("there are %d records", len(records))
	}
	swept := meta.FindStatusCondition(records[0].Status.Conditions, tenancyv1alpha1.ConditionSwept)
	if swept == nil || swept.Status != metav1.ConditionFalse || swept.Reason != reason {
		r.Fatalf("it says %+v, and not %s", swept, reason)
	}
	for _, part := range parts {
		if !strings.Contains(swept.Message, part) {
			r.Errorf("it does not say %q: %s", part, swept.Message)
		}
	}
}

// there tells whether that very object is in the workload cluster, and not about to go.
func (r *rig) there(object client.Object) bool {
	r.Helper()
	live := object.DeepCopyObject().(client.Object)
	err := shared.workload.Get(r.Context(), client.ObjectKeyFromObject(object), live)
	r.must(client.IgnoreNotFound(err))
	return !apierrors.IsNotFound(err) && live.GetUID() == object.GetUID() && live.GetDeletionTimestamp() == nil
}

// release makes an AddonRelease in the cluster, with an inventory.
func (r *rig) release(applied metav1.ConditionStatus, inventory ...metav1alpha1.InventoryEntry) *addonsv1alpha1.AddonRelease {
	r.Helper()
	release := &addonsv1alpha1.AddonRelease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.namespace, Name: fmt.Sprintf("cache-%d", shared.tests.Add(1)),
			Labels: map[string]string{metav1alpha1.LabelPolicy: "cache", metav1alpha1.LabelCluster: tenantName, metav1alpha1.LabelClusterNamespace: r.namespace},
		},
		Spec: addonsv1alpha1.AddonReleaseSpec{TargetSpec: metav1alpha1.TargetSpec{ClusterRef: metav1alpha1.ClusterReference{Namespace: r.namespace, Name: tenantName}, Revision: "r1"}},
	}
	r.must(shared.management.Create(r.Context(), release))
	release.Status.Inventory = inventory
	r.applied(release, applied)
	return release
}

func (r *rig) applied(release *addonsv1alpha1.AddonRelease, is metav1.ConditionStatus) {
	r.Helper()
	release.Status.Conditions = []metav1.Condition{{
		Type: metav1alpha1.ConditionApplied, Status: is, Reason: "Test", LastTransitionTime: metav1.Now(), ObservedGeneration: release.Generation,
	}}
	r.must(shared.management.Status().Update(r.Context(), release))
}

func (r *rig) eventually(what string, check func() error) {
	r.Helper()
	expect.Eventually(r, what, func(context.Context) error { return check() })
}
