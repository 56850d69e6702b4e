package backuppolicy

import (
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
)

// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=backuppolicies,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=backuppolicies/finalizers,verbs=update
// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=backuppolicies/status,verbs=patch
// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=backupenrollments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=configmaps;namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler rolls BackupPolicies out. How is the policy room's: this is the policy.Kind.
type Reconciler struct {
	// Client reads from the manager's cache, which holds ConfigMaps, Secrets and Namespaces as metadata only.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	// Recorder tells people what they would otherwise miss.
	Recorder events.EventRecorder
	// Clock tells when a gate opens.
	Clock clock.PassiveClock
	// ProviderNamespace is where policies may select clusters of other namespaces.
	ProviderNamespace string
	// Checker refuses what policies may not say.
	Checker Checker
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, opts policy.Options) error {
	room := &policy.Reconciler[*backupv1alpha1.BackupPolicy, *backupv1alpha1.BackupEnrollment]{
		Client: r.Client, APIReader: r.APIReader, Recorder: r.Recorder, Clock: r.Clock,
		Kind: r, ProviderNamespace: r.ProviderNamespace,
	}
	return room.SetupWithManager(mgr, opts)
}
