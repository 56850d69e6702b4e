// Command daytwo is the manager: it keeps the add-ons, backups and certificates of a fleet of
// Kubernetes clusters as its custom resources declare them.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/daytwo-dev/daytwo/apis"
	"github.com/daytwo-dev/daytwo/controllers"
	"github.com/daytwo-dev/daytwo/webhooks"
)

func main() {
	arguments := os.Args[1:]
	if len(arguments) > 0 && arguments[0] == controllers.RenderWorker {
		os.Exit(controllers.RenderWorkerMain(arguments[1:]))
	}
	os.Exit(execute(arguments, os.Stdout, os.Stderr, func(f flags) error {
		collectGarbage()
		return run(ctrl.SetupSignalHandler(), f)
	}))
}

// leaseName is that of the Lease which the leader holds.
const leaseName = "daytwo-manager"

func run(ctx context.Context, f flags) (err error) {
	if f.Log, err = f.logging.newLogger(); err != nil {
		return err
	}
	ctrl.SetLogger(f.Log)
	klog.SetLogger(f.Log)

	controllers.BoundClientMetrics()
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("kubeconfig of the management cluster: %w", err)
	}
	// The API server's own priority and fairness is the better judge.
	config.QPS = -1
	elected, err := elect(config, f)
	if err != nil {
		return err
	}
	defer elected.end()
	f.Fence = elected.fence
	f.SecretAccess = f.NewSecretAccess()
	mgr, err := newManager(config, f, elected)
	if err != nil {
		return err
	}
	if f.Installation == "" {
		if f.Installation, err = controllers.ManagementIdentity(ctx, mgr.GetAPIReader()); err != nil {
			return err
		}
	}
	f.Renderer, f.ServedKinds = controllers.NewRenderer(), &controllers.ServedKinds{}
	err = f.webhooks.Serve(mgr, webhooks.Options{
		Orders: f.Orders(), ProviderNamespace: f.ProviderNamespace, AllowBackupHooks: f.AllowBackupHooks,
		CustomerClusterIssuers: f.CustomerClusterIssuers, BoundGuard: f.BoundGuard, Renderer: f.Renderer, Serves: f.ServedKinds.Serves, Clock: clock.RealClock{},
	})
	if err != nil {
		return err
	}
	end, err := controllers.SetupAll(ctx, mgr, f.Options)
	if err != nil {
		return err
	}
	defer end()
	return mgr.Start(ctx)
}

// election is what the manager leads by; without leader election all of it is nothing.
type election struct {
	controllers.LeaderElection
	lock  resourcelock.Interface
	fence *controllers.Fence
	end   func()
}

func elect(config *rest.Config, f flags) (election, error) {
	if f.leaderElection == "off" {
		return election{end: func() {}}, nil
	}
	e := election{LeaderElection: controllers.LeaderElection{Namespace: f.leaseNamespace, Name: leaseName, Duration: f.leaseDuration}}
	var err error
	e.lock, e.fence, e.end, err = e.Lock(config)
	return e, err
}

func newManager(config *rest.Config, f flags, elected election) (ctrl.Manager, error) {
	grace := f.Grace + 5*time.Second
	webhookServer, err := f.webhooks.Server()
	if err != nil {
		return nil, err
	}
	// Replicas that do not lead also ask who may see their metrics, so this configuration has no fence.
	unfenced := controllers.ManagementConfig(config, controllers.DefaultRequestLimits(), nil)
	metrics, err := f.diagnostics.Metrics(unfenced)
	if err != nil {
		return nil, err
	}
	renewDeadline, retryPeriod := elected.RenewDeadline(), elected.RetryPeriod()
	fenced := controllers.ManagementConfig(config, controllers.DefaultRequestLimits(), f.Fence)
	fenced.Wrap(f.SecretAccess.RoundTripper)
	cached := controllers.CacheOptions(f.SecretAccess)
	cached.DefaultTransform = cache.TransformStripManagedFields()
	mgr, err := ctrl.NewManager(fenced, ctrl.Options{
		Scheme:                              apis.NewScheme(),
		Metrics:                             metrics,
		HealthProbeBindAddress:              f.probeAddress,
		WebhookServer:                       webhookServer,
		LeaderElection:                      elected.lock != nil,
		LeaderElectionID:                    leaseName,
		LeaderElectionResourceLockInterface: elected.lock,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       &elected.Duration,
		RenewDeadline:                       &renewDeadline,
		RetryPeriod:                         &retryPeriod,
		GracefulShutdownTimeout:             &grace,
		Cache:                               cached,
	})
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	if err := f.diagnostics.AddProfiles(mgr, unfenced); err != nil {
		return nil, err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, mgr.AddReadyzCheck("caches", cachesSynced(mgr.GetCache()))
}

// cachesSynced is ready once the caches have listed what there is; no controller works before that.
func cachesSynced(cache cache.Cache) healthz.Checker {
	return func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), 100*time.Millisecond)
		defer cancel()
		if !cache.WaitForCacheSync(ctx) {
			return fmt.Errorf("caches are not synced yet")
		}
		return nil
	}
}
