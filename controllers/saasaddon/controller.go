package saasaddon

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/charts"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/saasaddon/try"
)

// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=saasaddons,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=saasaddons/finalizers,verbs=update
// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=saasaddons/status,verbs=patch
// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=addonreleases,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=configmaps;namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler rolls SaaSAddons out. How is the policy room's: this is the policy.Kind.
type Reconciler struct {
	// Client reads from the manager's cache, which holds ConfigMaps, Secrets and Namespaces as
	// metadata only.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	// Recorder tells people what they would otherwise miss.
	Recorder events.EventRecorder
	// Clock tells when a gate opens, and when a chart is fetched again.
	Clock clock.PassiveClock
	// Charts fetches Helm charts in the background; Done of its options is Fetched.
	Charts *charts.AsyncFetcher[types.NamespacedName]
	// Inspector looks into charts that were fetched.
	Inspector Inspector
	// Renderer tries what add-ons are made of before any cluster gets it; nil for no such trial.
	Renderer try.Renderer
	// ProviderNamespace is where add-ons may select clusters of other namespaces.
	ProviderNamespace string

	fetches fetchMemory
	room    *policy.Reconciler[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]
}

// triedKind is the policy.Kind whose content is tried, a policy.TriedKind.
type triedKind struct {
	*Reconciler
	try.Trier
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, opts policy.Options) error {
	var kind policy.Kind[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease] = r
	if r.Renderer != nil {
		kind = triedKind{Reconciler: r, Trier: try.Trier{Client: r.Client, APIReader: r.APIReader, Renderer: r.Renderer}}
	}
	r.room = &policy.Reconciler[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]{
		Client: r.Client, APIReader: r.APIReader, Recorder: r.Recorder, Clock: r.Clock,
		Kind: kind, ProviderNamespace: r.ProviderNamespace,
	}
	return r.room.SetupWithManager(mgr, opts)
}

// Fetched wakes an add-on whose chart is there.
func (r *Reconciler) Fetched(addon types.NamespacedName) { r.room.Wake(addon) }
