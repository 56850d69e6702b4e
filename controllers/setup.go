// Package controllers puts the controllers together; each kind has a package of its own.
package controllers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daytwo-dev/daytwo/controllers/addonrelease"
	"github.com/daytwo-dev/daytwo/controllers/internal/brief"
	"github.com/daytwo-dev/daytwo/controllers/internal/charts"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/graceful"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/ownership"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/orphanledger"
	"github.com/daytwo-dev/daytwo/controllers/saasaddon"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=daytwo-system,resources=leases,verbs=create;get;update
// +kubebuilder:rbac:groups="",namespace=daytwo-system,resources=events,verbs=create;patch

// RenderWorker is the argument with which the manager's program is a render worker instead.
const RenderWorker = render.WorkerArgument

// RenderWorkerMain runs a render worker and returns its exit code.
func RenderWorkerMain(arguments []string) int { return render.WorkerMain(arguments) }

// DefaultControllerManagers are the field managers whose changes are no drift.
func DefaultControllerManagers() []string { return ownership.DefaultControllers() }

// Options of all controllers.
type Options struct {
	// ProviderNamespace is where policies may select across namespaces.
	ProviderNamespace string
	// Installation marks what Daytwo applies, as the value of daytwo.dev/managed-by. Empty for the
	// identity of the management cluster.
	Installation string
	// ControllerManagers are the field managers whose changes are no drift.
	ControllerManagers []string
	// AllowPrivateSources lets charts come from repositories at any address.
	AllowPrivateSources bool
	// AllowProxyURL accepts kubeconfigs with a proxy-url.
	AllowProxyURL bool
	// CredentialsExpiryWarning is how long before the end of credentials a condition warns.
	CredentialsExpiryWarning time.Duration
	// ConcurrentTargets is how many targets are worked on at a time.
	ConcurrentTargets int
	// OrphanHeadStart is how long a cluster has been Ready before what was left there is swept; 0 for
	// the default.
	OrphanHeadStart time.Duration
	// Grace is how long reconciles in flight may go on after SIGTERM.
	Grace time.Duration
	// Registry of metrics; nil for the manager's own.
	Registry prometheus.Registerer
	Log      logr.Logger
}

// SetupAll adds every controller to the manager. What they stand on ends with the returned function,
// to be called when the manager has ended: reconciles in flight need it until then.
func SetupAll(ctx context.Context, mgr ctrl.Manager, options Options) (end func(), err error) {
	if options.Installation == "" {
		identity, err := ManagementIdentity(ctx, mgr.GetAPIReader())
		if err != nil {
			return nil, err
		}
		options.Installation = identity
	}
	if options.Registry == nil {
		options.Registry = metrics.Registry
	}
	known := ownership.NewControllers(ownership.ManagerOf(options.Installation), options.ControllerManagers...)
	connections := fleet.New(fleet.Options{
		Installation: options.Installation, Controllers: known, Timeouts: fleet.DefaultTimeouts(),
		Metrics: fleet.NewMetrics(options.Registry), Clock: clock.RealClock{}, Log: options.Log.WithName("fleet"),
	})
	renderer := render.NewPool(render.Options{})
	end = func() {
		connections.Close()
		renderer.Close()
	}
	wrap := func(inner reconcile.Reconciler) reconcile.Reconciler {
		return graceful.Reconciler(inner, options.Grace)
	}

	if err := tenantcluster.SetupWithManager(ctx, mgr, tenantcluster.Options{
		Fleet: connections, Installation: options.Installation, ProviderNamespace: options.ProviderNamespace,
		Kubeconfig:               kubeconfig.Options{AllowProxyURL: options.AllowProxyURL},
		CredentialsExpiryWarning: options.CredentialsExpiryWarning,
		Grace:                    options.Grace, Clock: clock.RealClock{},
	}); err != nil {
		return end, fmt.Errorf("set up tenantcluster: %w", err)
	}
	addons := &saasaddon.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: brief.Recorder(mgr.GetEventRecorder("saasaddon")),
		Clock: clock.RealClock{}, ProviderNamespace: options.ProviderNamespace, Inspector: renderer,
	}
	addons.Charts = charts.NewDesk(charts.NewFetcher(charts.Options{AllowPrivateSources: options.AllowPrivateSources}),
		charts.DeskOptions[types.NamespacedName]{
			Done: addons.Fetched, Tenant: func(addon types.NamespacedName) string { return addon.Namespace },
		})
	end = func() {
		addons.Charts.Close()
		connections.Close()
		renderer.Close()
	}
	if err := addons.SetupWithManager(mgr, saasaddon.Options{Wrap: wrap}); err != nil {
		return end, fmt.Errorf("set up saasaddon: %w", err)
	}
	if err := (&addonrelease.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Fleet: connections, Renderer: renderer,
		Controllers: known, Installation: options.Installation, Recorder: brief.Recorder(mgr.GetEventRecorder("addonrelease")),
		Orphans: orphans.Ledger{Reader: mgr.GetAPIReader(), Writer: mgr.GetClient()},
		Metrics: addonrelease.NewMetrics(options.Registry), Clock: clock.RealClock{}, Log: options.Log.WithName("addonrelease"),
	}).SetupWithManager(mgr, addonrelease.Options{MaxConcurrentReconciles: options.ConcurrentTargets, Wrap: wrap}); err != nil {
		return end, fmt.Errorf("set up addonrelease: %w", err)
	}
	if err := (&orphanledger.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Fleet: connections, Installation: options.Installation,
		Ledger:    orphans.Ledger{Reader: mgr.GetAPIReader(), Writer: mgr.GetClient()},
		HeadStart: cmp.Or(options.OrphanHeadStart, orphanledger.DefaultHeadStart), Recorder: brief.Recorder(mgr.GetEventRecorder("orphanledger")),
		Metrics: orphanledger.NewMetrics(options.Registry), Clock: clock.RealClock{}, Log: options.Log.WithName("orphanledger"),
	}).SetupWithManager(mgr, orphanledger.Options{Wrap: wrap}); err != nil {
		return end, fmt.Errorf("set up orphanledger: %w", err)
	}
	return end, nil
}

// ManagementIdentity is the UID of the management cluster's namespace kube-system, as for any cluster.
func ManagementIdentity(ctx context.Context, reader client.Reader) (string, error) {
	system := &corev1.Namespace{}
	if err := reader.Get(ctx, client.ObjectKey{Name: "kube-system"}, system); err != nil {
		return "", fmt.Errorf("identify the management cluster: %w", err)
	}
	return string(system.UID), nil
}
