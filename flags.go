package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/daytwo-dev/daytwo/controllers"
	"github.com/daytwo-dev/daytwo/controllers/orphanrecord"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
	"github.com/daytwo-dev/daytwo/internal/diagnostics"
	"github.com/daytwo-dev/daytwo/webhooks"
)

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
	secretNamespaces   string
	guardMax           string
	logging            logging
	version            bool
	controllers.Options
}

// parse returns flag.ErrHelp if the arguments ask for help. It writes the list of all flags to help then.
func parse(arguments []string, help io.Writer) (flags, error) {
	var f flags
	set := flag.NewFlagSet("daytwo", flag.ContinueOnError)
	// Only help lists all flags: they would bury what is wrong.
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	f.bind(set)
	err := set.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprintf(help, "%s\n\nFlags of the manager:\n", usage)
		set.SetOutput(help)
		set.PrintDefaults()
	}
	if err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("unexpected argument %q: the manager takes flags alone, as in --flag=value", set.Arg(0))
	}
	return f, f.complete()
}

// bind makes the set write into f.
func (f *flags) bind(set *flag.FlagSet) {
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
	set.StringVar(&f.secretNamespaces, "secret-namespaces", "", "namespaces, separated by commas, whose Secrets the manager reads, and those of the Clusters ordered there (default: all); each needs a RoleBinding of ClusterRole daytwo-secrets")
	set.StringVar(&f.guardMax, "withdrawal-guard-max", "10,50%", "the most that withdrawal guards of policies outside of the provider's namespace may allow, as <clusters>,<percentage>")
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
	set.BoolVar(&f.version, "version", false, "tell what the program was built from, and end")
}

// complete checks the flags that have few values, and takes lists apart.
func (f *flags) complete() error {
	if !slices.Contains([]string{"lease", "off"}, f.leaderElection) {
		return fmt.Errorf("--leader-election=%s: use lease or off", f.leaderElection)
	}
	if f.leaseDuration < 3*time.Second || f.leaseDuration%time.Second != 0 {
		return fmt.Errorf("--leader-election-lease-duration=%s: use whole seconds, 3s or more", f.leaseDuration)
	}
	if problems := validation.IsDNS1123Label("a" + f.ClusterNamespaceSuffix); f.ClusterNamespaceSuffix == "" || len(problems) > 0 {
		return fmt.Errorf("--cluster-namespace-suffix=%s: use the end of a namespace's name, such as %s", f.ClusterNamespaceSuffix, topology.DefaultClusterNamespaceSuffix)
	}
	if err := f.SetWithdrawalGuardMax(f.guardMax); err != nil {
		return fmt.Errorf("--withdrawal-guard-max: %w", err)
	}
	comma := func(r rune) bool { return r == ',' }
	f.ControllerManagers = strings.FieldsFunc(f.controllerManagers, comma)
	f.ToolManagers = strings.FieldsFunc(f.toolManagers, comma)
	f.CustomerClusterIssuers = strings.FieldsFunc(f.clusterIssuers, comma)
	f.ClassNamespaces = strings.FieldsFunc(f.classNamespaces, comma)
	f.SecretNamespaces = strings.FieldsFunc(f.secretNamespaces, comma)
	for _, namespace := range f.SecretNamespaces {
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			return fmt.Errorf("--secret-namespaces: %q is no name of a namespace: %s", namespace, strings.Join(problems, "; "))
		}
	}
	f.ChartMirrors = strings.FieldsFunc(f.chartMirrors, comma)
	return nil
}
