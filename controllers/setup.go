// Package controllers puts the controllers together; each kind has a package of its own.
package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment"
	"github.com/daytwo-dev/daytwo/controllers/backuppolicy"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/issuing"
	"github.com/daytwo-dev/daytwo/controllers/certificatedelivery"
	"github.com/daytwo-dev/daytwo/controllers/drdrill"
	"github.com/daytwo-dev/daytwo/controllers/internal/assumerole"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
	"github.com/daytwo-dev/daytwo/controllers/internal/charts"
	"github.com/daytwo-dev/daytwo/controllers/internal/clientmetrics"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/graceful"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/managementserver"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/run"
	"github.com/daytwo-dev/daytwo/controllers/internal/statusmetrics"
	"github.com/daytwo-dev/daytwo/controllers/internal/storerestore"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
	"github.com/daytwo-dev/daytwo/controllers/orphanrecord"
	"github.com/daytwo-dev/daytwo/controllers/saasaddon"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusternamespace"
	"github.com/daytwo-dev/daytwo/internal/evidence"
	"github.com/daytwo-dev/daytwo/internal/netguard"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=daytwo-system,resources=leases,verbs=create;get;update
// +kubebuilder:rbac:groups="",namespace=daytwo-system,resources=events,verbs=create;patch

// RenderWorker is the argument with which the manager's program is a render worker instead.
const RenderWorker = render.WorkerArgument

// Renderer renders in worker processes, whose shares controllers and webhooks have in common.
type Renderer = render.Pool

// NewRenderer returns a Renderer that has started nothing yet.
func NewRenderer() *Renderer { return render.NewPool(render.Options{}) }

// RenderWorkerMain runs a render worker and returns its exit code.
func RenderWorkerMain(arguments []string) int { return render.WorkerMain(arguments) }

// BoundClientMetrics keeps the labels of client-go's metrics in fixed sets. Call it before the first client is made.
func BoundClientMetrics() { clientmetrics.Bound() }

// DefaultControllerManagers are the field managers whose changes are no drift.
func DefaultControllerManagers() []string { return managedfields.DefaultControllers() }

// targetKinds are the kinds whose objects work in workload clusters. A kind that is missing here is overlooked when a
// TenantCluster is deleted or upgraded, and when orphans are swept.
func targetKinds() targets.Registry {
	return targets.Registry{
		addonrelease.TargetKind(),
		backupenrollment.TargetKind(),
		drdrill.TargetKind(),
		certificatedelivery.TargetKind(),
	}
}

// SetupAll adds every controller to the manager. What they stand on ends with the returned function,
// to be called when the manager has ended: reconciles in flight need it until then.
func SetupAll(ctx context.Context, mgr ctrl.Manager, options Options) (end func(), err error) {
	if options.Registry == nil {
		options.Registry = metrics.Registry
	}
	rules, err := options.rules()
	if err != nil {
		return nil, err
	}
	mgr = options.SecretAccess.Manager(mgr)
	b, err := newBase(ctx, mgr, options, rules)
	if err != nil {
		return nil, err
	}
	if options.ServedKinds != nil {
		options.ServedKinds.connections.Store(b.connections)
	}
	statusmetrics.New(options.Registry, mgr.GetCache(), mgr.Elected(), policyKinds(b.targets), options.Log.WithName("metrics"))
	return b.close, errors.Join(b.setUpTenantClusters(ctx), b.setUpClusterNamespaces(), b.setUpAddons(), b.setUpReleases(),
		b.setUpBackupPolicies(), b.setUpEnrollments(), b.setUpDrills(), b.setUpBundles(), b.setUpDeliveries(), b.setUpOrphans(), b.detectRestores())
}

// policyKinds are empty lists of all kinds of policies, by kind.
func policyKinds(registry targets.Registry) map[string]client.ObjectList {
	lists := map[string]client.ObjectList{}
	for _, kind := range registry {
		if kind.Policy != nil {
			lists[kind.Policy.Kind] = kind.Policy.NewList()
		}
	}
	return lists
}

// base is what the controllers stand on.
type base struct {
	ctrl.Manager
	options     Options
	rules       managedfields.Rules
	connections *fleet.Fleet
	targets     targets.Registry
	metrics     *target.Metrics
	renderer    *render.Pool
	charts      *charts.AsyncFetcher[types.NamespacedName]
	// reconciles that end together, apart from those of TenantClusters.
	reconciles *graceful.Group
}

func newBase(ctx context.Context, mgr ctrl.Manager, options Options, rules managedfields.Rules) (*base, error) {
	management, err := managementserver.New(ctx, mgr.GetConfig(), mgr.GetCache())
	if err != nil {
		return nil, err
	}
	return &base{
		Manager: mgr, options: options, rules: rules, reconciles: &graceful.Group{Grace: options.Grace}, targets: targetKinds(), metrics: target.NewMetrics(options.Registry), renderer: cmp.Or(options.Renderer, NewRenderer()),
		connections: fleet.New(fleet.Options{
			Installation: options.Installation, Rules: rules, Timeouts: fleet.DefaultTimeouts(), Fence: options.Fence,
			Guard:   options.clusterGuard(management),
			Metrics: fleet.NewMetrics(options.Registry), Clock: clock.RealClock{}, Log: options.Log.WithName("fleet"),
		}),
	}, nil
}

func (b *base) close() {
	if b.charts != nil {
		b.charts.Close()
	}
	b.connections.Close()
	b.renderer.Close()
}

func (b *base) recorder(controller string) events.EventRecorder {
	return truncate.Recorder(b.GetEventRecorder(controller))
}

func (b *base) orphans() orphans.Records {
	return orphans.Records{Reader: b.GetAPIReader(), Writer: b.GetClient()}
}

func (b *base) setUpTenantClusters(ctx context.Context) error {
	err := tenantcluster.SetupWithManager(ctx, b.Manager, tenantcluster.Options{
		Fleet: b.connections, Targets: b.targets, Orders: b.options.Orders(), ProviderNamespace: b.options.ProviderNamespace,
		Kubeconfig:               kubeconfig.Options{AllowProxyURL: b.options.AllowProxyURL},
		CredentialsExpiryWarning: b.options.CredentialsExpiryWarning,
		Wrap:                     b.wrap, StatusPause: throttle.Health, AtEnd: b.atEnd, Clock: clock.RealClock{},
	})
	return setUp("tenantcluster", err)
}

func (b *base) setUpClusterNamespaces() error {
	return setUp("clusternamespace", clusternamespace.SetupWithManager(b.Manager, clusternamespace.Options{
		Orders: b.options.Orders(), Secrets: b.options.SecretAccess, Wrap: b.wrap,
	}))
}

func (b *base) setUpAddons() error {
	addons := &saasaddon.Reconciler{
		Client: b.GetClient(), APIReader: b.GetAPIReader(), Recorder: b.recorder("saasaddon"),
		Clock: clock.RealClock{}, ProviderNamespace: b.options.ProviderNamespace, Inspector: b.renderer, Renderer: b.renderer,
	}
	mirrors, err := charts.ParseMirrors(b.options.ChartMirrors)
	if err != nil {
		return err
	}
	addons.Charts = charts.NewAsyncFetcher(charts.NewFetcher(charts.Options{AllowPrivateSources: b.options.AllowPrivateSources, Mirrors: mirrors}),
		charts.AsyncFetcherOptions[types.NamespacedName]{
			Done: addons.Fetched, Tenant: func(addon types.NamespacedName) string { return addon.Namespace },
		})
	b.charts = addons.Charts
	return setUp("saasaddon", addons.SetupWithManager(b.Manager, b.policyOptions()))
}

func (b *base) setUpReleases() error {
	releases := &addonrelease.Reconciler{
		Room: &addonrelease.Room{
			Client: b.GetClient(), APIReader: b.GetAPIReader(), Fleet: b.connections, Targets: b.targets, Recorder: b.recorder("addonrelease"),
			Orphans: b.orphans(), Metrics: b.metrics, Log: b.options.Log.WithName("addonrelease"),
			ProviderNamespace: b.options.ProviderNamespace,
		},
		Renderer: b.renderer, Rules: b.rules, Installation: b.options.Installation, Clock: clock.RealClock{},
	}
	return setUp("addonrelease", releases.SetupWithManager(b.Manager, b.targetOptions()))
}

func (b *base) setUpBackupPolicies() error {
	policies := &backuppolicy.Reconciler{
		Client: b.GetClient(), APIReader: b.GetAPIReader(), Recorder: b.recorder("backuppolicy"),
		Clock: clock.RealClock{}, ProviderNamespace: b.options.ProviderNamespace,
		Checker: backuppolicy.Checker{AllowBackupHooks: b.options.AllowBackupHooks},
	}
	return setUp("backuppolicy", policies.SetupWithManager(b.Manager, b.policyOptions()))
}

func (b *base) setUpEnrollments() error {
	enrollments := &backupenrollment.Reconciler{
		Room: &backupenrollment.Room{
			Client: b.GetClient(), APIReader: b.GetAPIReader(), Fleet: b.connections, Targets: b.targets, Recorder: b.recorder("backupenrollment"),
			Orphans: b.orphans(), Metrics: b.metrics, Log: b.options.Log.WithName("backupenrollment"),
			ProviderNamespace: b.options.ProviderNamespace,
		},
		Rules: b.rules, Installation: b.options.Installation, AllowBackupHooks: b.options.AllowBackupHooks, Clock: clock.RealClock{},
		Storage: backupstore.Options{Guard: b.storageGuard()}, Minter: &assumerole.Minter{Guard: b.storageGuard()},
	}
	return setUp("backupenrollment", enrollments.SetupWithManager(b.Manager, b.targetOptions()))
}

func (b *base) setUpDrills() error {
	signer, err := b.evidenceSigner()
	if err != nil {
		return err
	}
	drills := &drdrill.Reconciler{
		Room: &drdrill.Room{
			Client: b.GetClient(), APIReader: b.GetAPIReader(), Fleet: b.connections, Recorder: b.recorder("drdrill"), Orphans: b.orphans(),
			Clock: clock.RealClock{}, Log: b.options.Log.WithName("drdrill"),
		},
		Installation: b.options.Installation, Storage: backupstore.Options{Guard: b.storageGuard()}, Signer: signer,
	}
	return setUp("drdrill", drills.SetupWithManager(b.Manager, run.Options{Wrap: b.wrap, AtEnd: b.atEnd}))
}

// evidenceSigner signs with the key that the provider gave; nil for none.
func (b *base) evidenceSigner() (*evidence.Signer, error) {
	if b.options.EvidenceKey == "" {
		return nil, nil //nolint:nilnil // Nothing is signed.
	}
	file, err := os.ReadFile(b.options.EvidenceKey)
	if err != nil {
		return nil, fmt.Errorf("read the key that --evidence-key names: %w", err)
	}
	signer, err := evidence.NewSigner(file)
	if err != nil {
		return nil, fmt.Errorf("--evidence-key=%s: %w", b.options.EvidenceKey, err)
	}
	return signer, nil
}

// storageGuard permits the addresses that the storage of backups may have.
func (b *base) storageGuard() netguard.Guard {
	return guard(b.options.AllowPrivateStorage)
}

func (b *base) setUpBundles() error {
	bundles := &certificatebundle.Reconciler{
		Client: b.GetClient(), APIReader: b.GetAPIReader(), Recorder: b.recorder("certificatebundle"),
		Clock: clock.RealClock{}, ProviderNamespace: b.options.ProviderNamespace, Checker: b.options.BundleChecker(),
	}
	return setUp("certificatebundle", bundles.SetupWithManager(b.Manager, certificatebundle.Options{
		Options: b.policyOptions(),
		WrapIssuing: func(inner reconcile.TypedReconciler[issuing.Key]) reconcile.TypedReconciler[issuing.Key] {
			return graceful.InGroup(b.reconciles, inner)
		},
	}))
}

func (b *base) setUpDeliveries() error {
	log := b.options.Log.WithName("certificatedelivery")
	certificatedelivery.NewMetrics(b.options.Registry, b.GetCache(), b.Elected(), log)
	deliveries := &certificatedelivery.Reconciler{
		Room: &certificatedelivery.Room{
			Client: b.GetClient(), APIReader: b.GetAPIReader(), Fleet: b.connections, Targets: b.targets, Recorder: b.recorder("certificatedelivery"),
			Orphans: b.orphans(), Metrics: b.metrics, Log: log,
			ProviderNamespace: b.options.ProviderNamespace,
		},
		Rules: b.rules, Installation: b.options.Installation, Clock: clock.RealClock{},
		Guard: guard(b.options.AllowPrivateProbes),
	}
	return setUp("certificatedelivery", deliveries.SetupWithManager(b.Manager, b.targetOptions()))
}

func (b *base) setUpOrphans() error {
	records := &orphanrecord.Reconciler{
		Client: b.GetClient(), Reader: b.GetAPIReader(), Targets: b.targets, Fleet: b.connections, Installation: b.options.Installation, Orphans: b.orphans(),
		HeadStart: cmp.Or(b.options.OrphanHeadStart, orphanrecord.DefaultHeadStart), Recorder: b.recorder("orphanrecord"),
		Metrics: orphanrecord.NewMetrics(b.options.Registry), Clock: clock.RealClock{}, Log: b.options.Log.WithName("orphanrecord"),
	}
	return setUp("orphanrecord", records.SetupWithManager(b.Manager, orphanrecord.Options{Wrap: b.wrap}))
}

// detectRestores looks at what every rollout changes.
func (b *base) detectRestores() error {
	kinds := []storerestore.Kind{{Object: &tenancyv1alpha1.TenantCluster{}, List: &tenancyv1alpha1.TenantClusterList{}}}
	for _, kind := range b.targets {
		kinds = append(kinds, storerestore.Kind{Object: kind.New(), List: kind.NewList()})
		if kind.Policy != nil {
			kinds = append(kinds, storerestore.Kind{Object: kind.Policy.New(), List: kind.Policy.NewList()})
		}
	}
	return b.Add(&storerestore.Detector{
		Cache: b.GetCache(), Live: b.GetAPIReader(), Log: b.options.Log.WithName("storerestore"), Kinds: kinds,
	})
}

func setUp(controller string, err error) error {
	if err != nil {
		return fmt.Errorf("set up %s: %w", controller, err)
	}
	return nil
}

// ManagementIdentity is the UID of the management cluster's namespace kube-system, as for any cluster.
func ManagementIdentity(ctx context.Context, reader client.Reader) (string, error) {
	identity, err := (&managementserver.Identity{Live: reader}).Of(ctx)
	return string(identity), err
}
