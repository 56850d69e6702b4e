package tenantcluster

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fairqueue"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusterapi"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/remaining"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/unreadable"
)

// Defaults of Options.
const (
	DefaultMaxConcurrentReconciles  = 16
	DefaultCredentialsExpiryWarning = 14 * 24 * time.Hour
)

// Backoff of a TenantCluster whose reconcile failed; each has its own.
const (
	retryFirst = 100 * time.Millisecond
	retryMax   = 5 * time.Minute
)

// Options of the controller.
type Options struct {
	// Fleet holds the connections.
	Fleet *fleet.Fleet
	// Targets are the kinds whose objects keep a TenantCluster that is being deleted, or hold its upgrade up.
	Targets targets.Registry
	// Orders is what the provider decides for all orders.
	Orders topology.Options
	// ProviderNamespace is the only one in which the management cluster may be registered.
	ProviderNamespace string
	// Kubeconfig says what is permitted in kubeconfigs.
	Kubeconfig kubeconfig.Options
	// CredentialsExpiryWarning is how long before credentials expire the condition
	// CredentialsExpiring comes; zero stands for the default.
	CredentialsExpiryWarning time.Duration
	// MaxConcurrentReconciles is how many TenantClusters are worked on at a time; zero stands for the
	// default.
	MaxConcurrentReconciles int
	// Wrap decorates the reconcilers, if set.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
	// StatusPause is between two statuses of a TenantCluster that only mirror how the cluster answers.
	StatusPause throttle.Pause
	// AtEnd has something done once the manager was told to stop and no reconcile is under way; nil where statuses that were
	// put off need not be written then.
	AtEnd func(do func(ctx context.Context) error) error
	// Clock tells when suspensions end and credentials expire.
	Clock clock.PassiveClock
}

func (o Options) complete() Options {
	if o.MaxConcurrentReconciles == 0 {
		o.MaxConcurrentReconciles = DefaultMaxConcurrentReconciles
	}
	if o.CredentialsExpiryWarning == 0 {
		o.CredentialsExpiryWarning = DefaultCredentialsExpiryWarning
	}
	if o.Wrap == nil {
		o.Wrap = func(inner reconcile.Reconciler) reconcile.Reconciler { return inner }
	}
	o.Orders = o.Orders.Complete()
	return o
}

// SetupWithManager adds the controller to the manager.
func SetupWithManager(ctx context.Context, mgr manager.Manager, options Options) error {
	options = options.complete()
	if err := addIndexes(ctx, mgr.GetFieldIndexer(), options.Orders); err != nil {
		return err
	}
	r := &reconciler{
		client:      mgr.GetClient(),
		live:        mgr.GetAPIReader(),
		events:      truncate.Recorder(mgr.GetEventRecorder("tenantcluster")),
		clock:       options.Clock,
		connections: options.Fleet,
		targets:     options.Targets,
		options:     options,
		renewals:    newRenewals(options.Clock),
	}
	r.management.Live = r.live
	r.orphans = orphans.Records{Reader: r.live, Writer: r.client}
	built, err := build(mgr, r, options)
	if err != nil {
		return fmt.Errorf("controller tenantcluster: %w", err)
	}
	r.clusters = clusterapi.New(mgr, built, options.Orders.Installation, r.toUsersOfCluster)
	if options.AtEnd != nil {
		return options.AtEnd(r.writeAllUnsaved)
	}
	return nil
}

func build(mgr manager.Manager, r *reconciler, options Options) (controller.Controller, error) {
	b := builder.ControllerManagedBy(mgr).
		Named("tenantcluster").
		For(&tenancyv1alpha1.TenantCluster{}).
		Watches(&tenancyv1alpha1.TenantCluster{}, handler.EnqueueRequestsFromMapFunc(r.toWaiting), builder.WithPredicates(identityReleased())).
		WatchesMetadata(secretMetadata(), handler.EnqueueRequestsFromMapFunc(r.toUsersOfSecret)).
		Watches(&tenancyv1alpha1.OrphanRecord{}, handler.EnqueueRequestsFromMapFunc(r.toClustersOfOrphans)).
		WatchesMetadata(namespaceMetadata(), handler.EnqueueRequestsFromMapFunc(r.toOrdersOfNamespace)).
		WatchesMetadata(optionalkind.Definition(), handler.EnqueueRequestsFromMapFunc(r.toUsersOfClusterAPI)).
		WatchesRawSource(connectionChanges(options.Fleet)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: options.MaxConcurrentReconciles,
			NewQueue:                fairqueue.For(options.MaxConcurrentReconciles, fairqueue.InCluster(r.client, newTenantCluster, keyOf)),
			// The default limiter has one bucket for all: many failing clusters would hold up the others.
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMax),
		})
	if err := r.renewals.AddTo(mgr, b); err != nil {
		return nil, err
	}
	r.targets.Watch(b, clusterDeletions(), toCluster)
	r.targets.Watch(b, becameReady(), r.toClusterThatWaitsForTarget)
	r.targets.WatchPolicies(b, r.client, remaining.GuardChanged, r.toClusterThatWaitsForGuard)
	return b.Build(options.Wrap(unreadable.Reconciler{Reconciler: r, Client: r.client, Events: r.events, Clock: r.clock}))
}

func newTenantCluster() *tenancyv1alpha1.TenantCluster { return &tenancyv1alpha1.TenantCluster{} }

func keyOf(cluster *tenancyv1alpha1.TenantCluster) types.NamespacedName {
	return client.ObjectKeyFromObject(cluster)
}

// connectionChanges wakes the TenantCluster whose connection changed.
func connectionChanges(connections *fleet.Fleet) source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		connections.Subscribe(fleet.Subscriber{Cluster: func(key types.NamespacedName) {
			queue.Add(reconcile.Request{NamespacedName: key})
		}})
		return nil
	})
}
