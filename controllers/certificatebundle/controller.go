package certificatebundle

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/authority"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/issuing"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// +kubebuilder:rbac:groups=certificates.daytwo.dev,resources=certificatebundles,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=certificates.daytwo.dev,resources=certificatebundles/finalizers,verbs=update
// +kubebuilder:rbac:groups=certificates.daytwo.dev,resources=certificatebundles/status,verbs=patch
// +kubebuilder:rbac:groups=certificates.daytwo.dev,resources=certificatedeliveries,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=configmaps;namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler rolls CertificateBundles out. How is the policy room's: this is the policy.Kind.
type Reconciler struct {
	// Client reads from the manager's cache, which holds ConfigMaps, Secrets and Namespaces as metadata only.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	// Recorder tells people what they would otherwise miss.
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// ProviderNamespace is where policies may select clusters of other namespaces.
	ProviderNamespace string
	// Checker refuses what bundles may not say.
	Checker Checker

	issuing     *issuing.Reconciler
	anchors     anchorExpiries
	authorities authority.Store
	decisions   decisions
}

// The room finds by type what a kind adds. One that lacked a method would lose it unnoticed.
var (
	_ policy.CoordinatingKind[*certificatesv1alpha1.CertificateBundle]                                       = (*Reconciler)(nil)
	_ policy.ReleasingKind[*certificatesv1alpha1.CertificateBundle]                                          = (*Reconciler)(nil)
	_ policy.GatedKind[*certificatesv1alpha1.CertificateBundle]                                              = (*Reconciler)(nil)
	_ policy.PairedKind[*certificatesv1alpha1.CertificateBundle, *certificatesv1alpha1.CertificateDelivery]  = (*Reconciler)(nil)
	_ policy.SummingKind[*certificatesv1alpha1.CertificateBundle, *certificatesv1alpha1.CertificateDelivery] = (*Reconciler)(nil)
)

// Options of the controllers of CertificateBundles.
type Options struct {
	policy.Options

	// WrapIssuing decorates the reconciler of single certificates, if set.
	WrapIssuing func(reconcile.TypedReconciler[issuing.Key]) reconcile.TypedReconciler[issuing.Key]
}

// SetupWithManager starts the controllers with the manager: one for bundles, and one for their certificates.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, opts Options) error {
	room := &policy.Reconciler[*certificatesv1alpha1.CertificateBundle, *certificatesv1alpha1.CertificateDelivery]{
		Client: r.Client, APIReader: r.APIReader, Recorder: r.Recorder, Clock: r.Clock,
		Kind: r, ProviderNamespace: r.ProviderNamespace,
	}
	r.authorities.Client, r.authorities.APIReader = r.Client, r.APIReader
	if err := authority.AddIndex(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r.issuing = &issuing.Reconciler{
		Client: r.Client, APIReader: r.APIReader, Clock: r.Clock, Authorities: &r.authorities,
		Check: func(bundle *certificatesv1alpha1.CertificateBundle) error {
			if problem := r.Checker.Check(bundle); problem != nil {
				return problem
			}
			return nil
		},
		Changed: func(bundle types.NamespacedName, cluster rollout.ClusterKey) {
			if cluster.Name == "" {
				room.Wake(bundle)
				return
			}
			room.WakeCluster(bundle, cluster)
		},
	}
	if err := r.issuing.SetupWithManager(mgr, issuing.Options{Wrap: opts.WrapIssuing}); err != nil {
		return err
	}
	return room.SetupWithManager(mgr, opts.Options)
}
