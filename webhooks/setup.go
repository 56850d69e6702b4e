package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backuppolicy"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle"
	"github.com/daytwo-dev/daytwo/controllers/saasaddon"
	"github.com/daytwo-dev/daytwo/controllers/saasaddon/preview"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// Options of the webhooks, which are those of the controllers.
type Options struct {
	// Orders is what the provider decides for all orders of clusters.
	Orders topology.Options
	// ProviderNamespace is where add-ons may select clusters of other namespaces.
	ProviderNamespace string
	// AllowBackupHooks lets BackupPolicies run commands in the pods of customers.
	AllowBackupHooks bool
	// CustomerClusterIssuers are the ClusterIssuers of cert-manager that customers' CertificateBundles may use.
	CustomerClusterIssuers []string
	// BoundGuard is a withdrawal guard of a policy in a namespace, within what the provider allows there.
	BoundGuard func(namespace string, guard metav1alpha1.WithdrawalGuard) metav1alpha1.WithdrawalGuard
	// Renderer renders what add-ons are made of; nil to look at none of it.
	Renderer preview.Renderer
	// Serves is whether a cluster serves a kind; an error tells that this is not known. Nil to ask no cluster.
	Serves func(ctx context.Context, cluster types.NamespacedName, kind schema.GroupVersionKind) (bool, error)
	// OnlyAPIServers: nobody but the API server is answered, so that what it says of a request is so. A client CA says that too.
	OnlyAPIServers bool
	// Clock tells which withdrawals still count.
	Clock clock.PassiveClock
}

// SetupWithManager serves the webhooks on the manager's webhook server.
func SetupWithManager(mgr manager.Manager, options Options) error {
	direct, err := directClient(mgr)
	if err != nil {
		return err
	}
	isCovered := func(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster) (bool, error) {
		return backuppolicy.IsCovered(ctx, mgr.GetClient(), cluster, options.ProviderNamespace)
	}
	clusters := &tenantClusters{client: direct, orders: options.Orders.Complete(), isCovered: isCovered}
	if err := builder.WebhookManagedBy(mgr, &tenancyv1alpha1.TenantCluster{}).WithValidator(clusters).Complete(); err != nil {
		return fmt.Errorf("serve the webhook of TenantClusters: %w", err)
	}
	addons := &policies[*addonsv1alpha1.SaaSAddon]{kind: addonKind}
	if options.Renderer != nil {
		addons.sameContent = sameContent
		addons.preview = previewAddon(&preview.Previewer{
			Client: mgr.GetClient(), Renderer: options.Renderer, Serves: options.Serves, Render: options.OnlyAPIServers,
		})
	}
	backups := &policies[*backupv1alpha1.BackupPolicy]{kind: backupPolicyKind, check: checkBackupPolicy(backuppolicy.Checker{AllowBackupHooks: options.AllowBackupHooks})}
	bundles := &policies[*certificatesv1alpha1.CertificateBundle]{kind: bundleKind, check: checkBundle(certificatebundle.Checker{
		ProviderNamespace: options.ProviderNamespace, CustomerClusterIssuers: options.CustomerClusterIssuers,
	})}
	return errors.Join(
		serve(mgr, addons, &addonsv1alpha1.SaaSAddon{}, options, saasaddon.Withdrawal),
		serve(mgr, backups, &backupv1alpha1.BackupPolicy{}, options, backuppolicy.Withdrawal),
		serve(mgr, bundles, &certificatesv1alpha1.CertificateBundle{}, options, certificatebundle.Withdrawal),
	)
}

var backupPolicyKind = backupv1alpha1.GroupVersion.WithKind("BackupPolicy")

// checkBackupPolicy refuses what the controller would not carry out.
func checkBackupPolicy(checker backuppolicy.Checker) func(*backupv1alpha1.BackupPolicy, time.Time) error {
	return func(policy *backupv1alpha1.BackupPolicy, now time.Time) error {
		if problem := checker.Check(policy, now); problem != nil {
			return invalid(backupPolicyKind, policy.Name, problem.Field, problem.Message)
		}
		return nil
	}
}

var bundleKind = certificatesv1alpha1.GroupVersion.WithKind("CertificateBundle")

// checkBundle refuses what the controller would not carry out.
func checkBundle(checker certificatebundle.Checker) func(*certificatesv1alpha1.CertificateBundle, time.Time) error {
	return func(bundle *certificatesv1alpha1.CertificateBundle, _ time.Time) error {
		if problem := checker.Check(bundle); problem != nil {
			return invalid(bundleKind, bundle.Name, problem.Field, problem.Message)
		}
		return nil
	}
}

// directClient asks the API server without a cache, and keeps its warnings for whoever is answered.
func directClient(mgr manager.Manager) (client.Client, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.WarningHandler, config.WarningHandlerWithContext = nil, warningCollector{}
	direct, err := client.New(config, client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("create a client for the webhooks: %w", err)
	}
	return direct, nil
}

// invalid is the refusal of an object because of one of its fields.
func invalid(kind schema.GroupVersionKind, name, fieldPath, message string) error {
	refusal := apierrors.NewInvalid(kind.GroupKind(), name, field.ErrorList{})
	refusal.ErrStatus.Message = fieldPath + ": " + message
	refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: fieldPath, Message: message}}
	return refusal
}
