// Command daytwo is the manager: it keeps the add-ons, backups and certificates of a fleet of
// Kubernetes clusters as its custom resources declare them.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/daytwo-dev/daytwo/apis"
	"github.com/daytwo-dev/daytwo/controllers"
	"github.com/daytwo-dev/daytwo/controllers/orphanrecord"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
	"github.com/daytwo-dev/daytwo/internal/diagnostics"
	"github.com/daytwo-dev/daytwo/webhooks"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == controllers.RenderWorker {
		os.Exit(controllers.RenderWorkerMain(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == evidenceCommand {
		if err := runEvidence(os.Args[2:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "daytwo:", err)
			os.Exit(1)
		}
		return
	}
	collectGarbage()
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "daytwo:", err)
		os.Exit(1)
	}
}

// leaseName is that of the Lease which the leader holds.
const leaseName = "daytwo-manager"

// flags of the manager; docs/operations.md explains them to its users.
type flags struct {
	diagnostics        diagnostics.Flags
	probeAddress       string
	webhooks           webhooks.Flags
	leaderElection     string
	leaseNamespace     string
	leaseDuration      time.Duration
	controllerManagers string
	toolManagers       string
	chartMirrors       string
	clusterIssuers     string
	classNamespaces    string
	logging            logging
	controllers.Options
}

func parse(arguments []string) (flags, error) {
	var f flags
	set := flag.NewFlagSet("daytwo", flag.ContinueOnError)
	f.diagnostics.Bind(set)
	set.StringVar(&f.probeAddress, "health-probe-bind-address", ":8081", "address to serve /healthz and /readyz on")
	f.webhooks.Bind(set)
	set.StringVar(&f.leaderElection, "leader-election", "lease", "lease, or off where there is one replica only")
	set.StringVar(&f.leaseNamespace, "leader-election-namespace", "daytwo-system", "namespace of the Lease; the manager needs its Role there")
	set.DurationVar(&f.leaseDuration, "leader-election-lease-duration", 15*time.Second, "how long after the leader's last sign of life another replica takes over, in whole seconds; the leader writes nothing after nine tenths of it")
	set.StringVar(&f.ProviderNamespace, "provider-namespace", "daytwo-system", "the namespace in which policies may select clusters of other namespaces")
	set.StringVar(&f.Installation, "installation-id", "", "value of the label daytwo.dev/managed-by on applied objects (default: the UID of the management cluster's namespace kube-system)")
	set.StringVar(&f.controllerManagers, "controller-managers", strings.Join(controllers.DefaultControllerManagers(), ","), "field managers, separated by commas, whose changes are no drift")
	set.StringVar(&f.toolManagers, "tool-managers", "", "further field managers, separated by commas, of tools that act for people: what they add is drift; a trailing * stands for any ending")
	set.StringVar(&f.DriftExceptions, "drift-exceptions", "", "file of further rows for the catalog of drift exceptions, in the format of config/drift/exceptions.yaml")
	set.BoolVar(&f.AllowPrivateSources, "allow-private-sources", false, "fetch charts from loopback, link-local and private addresses too, and through the HTTP proxy of the environment")
	set.BoolVar(&f.AllowPrivateStorage, "allow-private-storage", false, "read backups from storage at loopback, link-local and private addresses too")
	set.BoolVar(&f.AllowPrivateProbes, "allow-private-probes", false, "let CertificateBundles probe servers at loopback, link-local and private addresses too")
	set.BoolVar(&f.AllowBackupHooks, "allow-backup-hooks", false, "let BackupPolicies run commands in the pods of customers before and after these are backed up")
	set.StringVar(&f.clusterIssuers, "customer-cluster-issuers", "", "ClusterIssuers of cert-manager, separated by commas, that CertificateBundles outside of the provider's namespace may use")
	set.StringVar(&f.ClusterNamespaceSuffix, "cluster-namespace-suffix", topology.DefaultClusterNamespaceSuffix, "what follows the name of a customer's namespace in the name of the namespace that Daytwo makes for the Clusters ordered there; it stays as it is while there are any")
	set.StringVar(&f.classNamespaces, "class-namespaces", topology.DefaultClassNamespace, "namespaces, separated by commas, that the ClusterClasses of ordered clusters may be in; the first is that of orders that name none")
	set.StringVar(&f.EvidenceKey, "evidence-key", "", "file with a private key (Ed25519, PKCS #8, PEM) that signs the evidence of drills")
	set.StringVar(&f.chartMirrors, "chart-mirrors", "", "directories of packed charts that stand in for repositories, as <repository>=<directory>, separated by commas")
	set.BoolVar(&f.AllowPrivateClusters, "allow-private-clusters", true, "let kubeconfigs lead to private addresses")
	set.BoolVar(&f.AllowLoopbackClusters, "allow-loopback-clusters", false, "let kubeconfigs lead to loopback addresses: for development, where workload clusters are on the manager's own machine")
	set.BoolVar(&f.AllowProxyURL, "allow-proxy-url", false, "accept kubeconfigs with a proxy-url")
	set.DurationVar(&f.CredentialsExpiryWarning, "credentials-expiry-warning", tenantcluster.DefaultCredentialsExpiryWarning, "how long before the end of a kubeconfig's credentials a condition warns")
	set.IntVar(&f.ConcurrentTargets, "concurrent-targets", 32, "how many targets are worked on at a time")
	set.DurationVar(&f.OrphanHeadStart, "orphan-head-start", orphanrecord.DefaultHeadStart, "how long a cluster that is registered again has been Ready before what was left there is swept")
	set.DurationVar(&f.Grace, "grace", 25*time.Second, "how long reconciles in flight may go on after SIGTERM")
	f.logging.bindFlags(set)
	if err := set.Parse(arguments); err != nil {
		return f, err
	}
	if !slices.Contains([]string{"lease", "off"}, f.leaderElection) {
		return f, fmt.Errorf("--leader-election=%s: use lease or off", f.leaderElection)
	}
	if f.leaseDuration < 3*time.Second || f.leaseDuration%time.Second != 0 {
		return f, fmt.Errorf("--leader-election-lease-duration=%s: use whole seconds, 3s or more", f.leaseDuration)
	}
	if problems := validation.IsDNS1123Label("a" + f.ClusterNamespaceSuffix); f.ClusterNamespaceSuffix == "" || len(problems) > 0 {
		return f, fmt.Errorf("--cluster-namespace-suffix=%s: use the end of a namespace's name, such as %s", f.ClusterNamespaceSuffix, topology.DefaultClusterNamespaceSuffix)
	}
	comma := func(r rune) bool { return r == ',' }
	f.ControllerManagers = strings.FieldsFunc(f.controllerManagers, comma)
	f.ToolManagers = strings.FieldsFunc(f.toolManagers, comma)
	f.CustomerClusterIssuers = strings.FieldsFunc(f.clusterIssuers, comma)
	f.ClassNamespaces = strings.FieldsFunc(f.classNamespaces, comma)
	f.ChartMirrors = strings.FieldsFunc(f.chartMirrors, comma)
	return f, nil
}

func run(ctx context.Context, arguments []string) error {
	f, err := parse(arguments)
	if err != nil {
		return err
	}
	if f.Log, err = f.logging.newLogger(); err != nil {
		return err
	}
	ctrl.SetLogger(f.Log)
	klog.SetLogger(f.Log)

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
	mgr, err := newManager(config, f, elected)
	if err != nil {
		return err
	}
	if f.Installation == "" {
		if f.Installation, err = controllers.ManagementIdentity(ctx, mgr.GetAPIReader()); err != nil {
			return err
		}
	}
	err = f.webhooks.Serve(mgr, webhooks.Options{
		Orders: f.Orders(), ProviderNamespace: f.ProviderNamespace, AllowBackupHooks: f.AllowBackupHooks,
		CustomerClusterIssuers: f.CustomerClusterIssuers, Clock: clock.RealClock{},
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
	// A replica that does not lead asks who may see its metrics too, so no fence is before that.
	unfenced := controllers.ManagementConfig(config, controllers.DefaultRequestLimits(), nil)
	metrics, err := f.diagnostics.Metrics(unfenced)
	if err != nil {
		return nil, err
	}
	renewDeadline, retryPeriod := elected.RenewDeadline(), elected.RetryPeriod()
	mgr, err := ctrl.NewManager(controllers.ManagementConfig(config, controllers.DefaultRequestLimits(), f.Fence), ctrl.Options{
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
		Cache: cache.Options{
			ByObject:         controllers.CacheOptions(),
			DefaultTransform: cache.TransformStripManagedFields(),
		},
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
