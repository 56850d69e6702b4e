package controllers

import (
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/certificatebundle"
	"github.com/daytwo-dev/daytwo/controllers/internal/managementserver"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
	"github.com/daytwo-dev/daytwo/internal/netguard"
)

// Options of all controllers.
type Options struct {
	// Renderer renders in worker processes; nil for one of the controllers' own. It ends with the controllers.
	Renderer *Renderer
	// ServedKinds gets to know the clusters; nil for nobody.
	ServedKinds *ServedKinds
	// ProviderNamespace is where policies may select across namespaces.
	ProviderNamespace string
	// Installation marks what Daytwo applies, as the value of daytwo.dev/managed-by: the ManagementIdentity, where
	// nobody says otherwise.
	Installation string
	// ControllerManagers are the field managers whose changes are no drift.
	ControllerManagers []string
	// ToolManagers are further field managers of people's tools; a trailing * stands for any ending.
	ToolManagers []string
	// DriftExceptions is a file of rows that the catalog of exceptions has besides those that are built in; empty for
	// none.
	DriftExceptions string
	// AllowPrivateSources lets charts come from repositories at any address.
	AllowPrivateSources bool
	// AllowPrivateStorage lets the storage of backups be at any address.
	AllowPrivateStorage bool
	// AllowPrivateProbes lets the servers that CertificateBundles probe be at any address.
	AllowPrivateProbes bool
	// AllowBackupHooks lets BackupPolicies run commands in the pods of customers.
	AllowBackupHooks bool
	// CustomerClusterIssuers are the ClusterIssuers of cert-manager that customers' CertificateBundles may use.
	CustomerClusterIssuers []string
	// guardMax bounds the withdrawal guards of policies outside of the provider's namespace; zero for nothing.
	guardMax rollout.Guard
	// EvidenceKey is a file with the private key that the evidence of drills is signed with; empty for none.
	EvidenceKey string
	// ChartMirrors are directories of packed charts that stand in for repositories: <repository>=<directory>.
	ChartMirrors []string
	// AllowPrivateClusters lets kubeconfigs lead to private addresses.
	AllowPrivateClusters bool
	// AllowLoopbackClusters lets kubeconfigs lead to loopback addresses.
	AllowLoopbackClusters bool
	// AllowProxyURL accepts kubeconfigs with a proxy-url.
	AllowProxyURL bool
	// ClusterNamespaceSuffix is what the namespaces of Clusters on order have after the name of the customer's; empty for the default.
	ClusterNamespaceSuffix string
	// ClassNamespaces are those that the ClusterClasses of orders may be in; none for the default.
	ClassNamespaces []string
	// SecretNamespaces are those with Secrets that the manager reads; none for all.
	SecretNamespaces []string
	// SecretAccess is the NewSecretAccess of these options.
	SecretAccess *SecretAccess
	// CredentialsExpiryWarning is how long before the end of credentials a condition warns.
	CredentialsExpiryWarning time.Duration
	// ConcurrentTargets is how many targets are worked on at a time.
	ConcurrentTargets int
	// OrphanHeadStart is how long a cluster has been Ready before what was left there is swept; 0 for
	// the default.
	OrphanHeadStart time.Duration
	// Grace is how long reconciles in flight may go on after SIGTERM.
	Grace time.Duration
	// Fence refuses writes where another manager may lead; nil where there is none.
	Fence *Fence
	// Registry of metrics; nil for the manager's own.
	Registry prometheus.Registerer
	Log      logr.Logger
}

// Orders is what the provider decides for all orders of clusters.
func (o Options) Orders() topology.Options {
	return topology.Options{
		Installation: o.Installation, ClusterNamespaceSuffix: o.ClusterNamespaceSuffix, ClassNamespaces: o.ClassNamespaces,
	}
}

// BundleChecker refuses what CertificateBundles may not say.
func (o Options) BundleChecker() certificatebundle.Checker {
	return certificatebundle.Checker{ProviderNamespace: o.ProviderNamespace, CustomerClusterIssuers: o.CustomerClusterIssuers}
}

// clusterGuard permits the addresses that kubeconfigs may lead to. The API server of the management cluster is a workload
// cluster's for the provider alone.
func (o Options) clusterGuard(management *managementserver.Server) func(types.NamespacedName) netguard.Guard {
	rule := netguard.Public
	if o.AllowPrivateClusters {
		rule = netguard.PublicAndPrivate
	}
	if o.AllowLoopbackClusters {
		rule = netguard.AndLoopback(rule)
	}
	return func(cluster types.NamespacedName) netguard.Guard {
		if cluster.Namespace == o.ProviderNamespace {
			return netguard.Guard{Rule: rule}
		}
		return netguard.Guard{Rule: func(address netip.AddrPort) bool { return rule(address) && !management.Is(address) }}
	}
}

func guard(allowPrivate bool) netguard.Guard {
	if allowPrivate {
		return netguard.Guard{Rule: netguard.All}
	}
	return netguard.Guard{Rule: netguard.Public}
}
