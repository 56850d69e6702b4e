package backupenrollment

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daytwo-dev/daytwo/apis"
	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupcontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/fleettest"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/internal/netguard"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const installation = "test-installation"

// aheadClock is the clock of a manager that may be ahead of everybody else's.
type aheadClock struct {
	clock.RealClock
	by atomic.Int64
}

// Now implements clock.PassiveClock.
func (c *aheadClock) Now() time.Time { return time.Now().Add(time.Duration(c.by.Load())) }

// Since implements clock.PassiveClock.
func (c *aheadClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// env is a management cluster with the controller running against it, and a workload cluster with Velero, which is connected
// in place of the TenantCluster controller.
type env struct {
	*testing.T
	cluster    *localfleet.Cluster
	management client.Client
	workload   client.Client
	storage    localfleet.Storage
	clock      aheadClock
}

func (w *env) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func newEnv(t *testing.T) *env {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	w := &env{T: t}
	servers, err := fixture.StartFleet(t.Context(), t.TempDir(), localfleet.Options{Clusters: 1, ClusterOptions: localfleet.ClusterOptions{Velero: true}}, "../../config/crd/bases")
	w.must(err)
	t.Cleanup(func() { w.must(servers.Close()) })
	w.storage, err = servers.Storage()
	w.must(err)
	_, err = servers.CreateBucket("backups")
	w.must(err)
	w.cluster, err = servers.Cluster("workload-1")
	w.must(err)
	scheme := apis.NewScheme()
	w.management, err = client.New(servers.Management().Config(), client.Options{Scheme: scheme})
	w.must(err)
	w.workload, err = client.New(w.cluster.Config(), client.Options{Scheme: scheme})
	w.must(err)
	mgr, err := ctrl.NewManager(servers.Management().Config(), ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	w.must(err)
	w.start(mgr)
	return w
}

// start runs the controller until the test ends.
func (w *env) start(mgr ctrl.Manager) {
	w.Helper()
	rules := managedfields.DefaultRules(installation)
	connections := fleet.New(fleet.Options{
		Installation: installation, Rules: rules, Timeouts: fleet.DefaultTimeouts(),
		Guard: fleettest.Anywhere, Metrics: fleet.NewMetrics(prometheus.NewRegistry()), Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	r := &Reconciler{
		Room: &Room{
			Targets: targets.Registry{TargetKind()}, Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Fleet: connections,
			Recorder: &events.FakeRecorder{}, Orphans: orphans.Records{Reader: mgr.GetAPIReader(), Writer: mgr.GetClient()},
			Metrics: target.NewMetrics(prometheus.NewRegistry()), Log: logr.Discard(),
		},
		Rules: rules, Installation: installation, Clock: &w.clock, Storage: backupstore.Options{Guard: netguard.Guard{Rule: netguard.All}},
	}
	w.must(r.SetupWithManager(mgr, target.Options{}))
	w.connect(connections)
	stop := fixture.Background(mgr.Start)
	w.Cleanup(func() {
		w.must(stop())
		connections.Close()
	})
}

// connect plays the TenantCluster controller.
func (w *env) connect(connections *fleet.Fleet) {
	w.Helper()
	tenant := &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "prod"},
		Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: "access"}},
	}
	w.must(w.management.Create(w.Context(), tenant))
	meta.SetStatusCondition(&tenant.Status.Conditions, metav1.Condition{Type: tenancyv1alpha1.ConditionConnected, Status: metav1.ConditionTrue, Reason: "Test"})
	w.must(w.management.Status().Update(w.Context(), tenant))
	access, err := kubeconfig.Parse(w.cluster.Kubeconfig(), kubeconfig.Options{})
	w.must(err)
	system := &corev1.Namespace{}
	w.must(w.workload.Get(w.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system))
	connections.Connect(client.ObjectKeyFromObject(tenant), access)
	w.must(connections.Admit(client.ObjectKeyFromObject(tenant), system.UID))
}

// enroll makes an enrollment whose backups start at a time of day.
func (w *env) enroll(start time.Time) *backupv1alpha1.BackupEnrollment {
	w.Helper()
	credentials := map[string]string{"aws_access_key_id": w.storage.AccessKey, "aws_secret_access_key": w.storage.SecretKey}
	w.must(w.management.Create(w.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "storage"}, StringData: credentials}))
	enrollment := &backupv1alpha1.BackupEnrollment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "nightly-prod", Finalizers: []string{metav1alpha1.FinalizerTarget},
			Labels: map[string]string{metav1alpha1.LabelPolicy: "nightly", metav1alpha1.LabelCluster: "prod", metav1alpha1.LabelClusterNamespace: "default"},
		},
		Spec: backupv1alpha1.BackupEnrollmentSpec{
			TargetSpec: metav1alpha1.TargetSpec{
				ClusterRef: metav1alpha1.ClusterReference{Namespace: "default", Name: "prod"}, Revision: w.revision(start),
			},
			CredentialsSecret: "storage",
		},
	}
	w.must(w.management.Create(w.Context(), enrollment))
	return enrollment
}

// revision writes the content of a policy, and returns its name.
func (w *env) revision(start time.Time) string {
	w.Helper()
	policy := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nightly"}}
	w.must(w.management.Create(w.Context(), policy))
	snapshot, err := revision.EncodeSnapshot(policy.Name, backupcontent.Content{
		VeleroNamespace: "velero", Cron: fmt.Sprintf("%d %d * * *", start.Minute(), start.Hour()), TTL: time.Hour,
		Template: backupv1alpha1.BackupTemplate{IncludedNamespaces: []string{"default"}},
		Storage:  backupcontent.Storage{Bucket: "backups", Prefix: "daytwo", Region: w.storage.Region, Endpoint: w.storage.Endpoint, CA: string(w.storage.CA)},
	})
	w.must(err)
	w.must(revision.Write(w.Context(), w.management, w.management, revision.Owner{APIVersion: "v1", Kind: "ConfigMap", Object: policy}, snapshot))
	return snapshot.Name
}

func (w *env) status(ctx context.Context) backupv1alpha1.BackupEnrollmentStatus {
	w.Helper()
	found := &backupv1alpha1.BackupEnrollment{}
	w.must(w.management.Get(ctx, client.ObjectKey{Namespace: "default", Name: "nightly-prod"}, found))
	return found.Status
}

// awaitStorage waits until Velero has found the storage available.
func (w *env) awaitStorage() {
	w.Helper()
	expect.Eventually(w, "Velero has found the storage available", func(ctx context.Context) error {
		if conditions := w.status(ctx).Conditions; !meta.IsStatusConditionTrue(conditions, backupv1alpha1.ConditionStorageAvailable) {
			return fmt.Errorf("conditions %+v", conditions)
		}
		return nil
	})
}

// velero lists the objects of a kind of Velero's.
func (w *env) velero(ctx context.Context, kind schema.GroupVersionKind) []unstructured.Unstructured {
	w.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	w.must(w.workload.List(ctx, list, client.InNamespace("velero")))
	return list.Items
}

// look has the controller look at the cluster's enrollments.
func (w *env) look(ctx context.Context, request string) {
	w.Helper()
	tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "prod"}}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, metav1alpha1.AnnotationRequestedAt, request)
	w.must(w.management.Patch(ctx, tenant, client.RawPatch(types.MergePatchType, patch)))
}
