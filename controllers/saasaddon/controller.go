package saasaddon

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daytwo-dev/daytwo/controllers/internal/charts"
)

// catchUp is how long a reconcile is put off whose cache is behind this process's own writes.
const catchUp = 100 * time.Millisecond

// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=saasaddons,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=saasaddons/finalizers,verbs=update
// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=saasaddons/status,verbs=patch
// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=addonreleases,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=configmaps;namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler rolls SaaSAddons out.
type Reconciler struct {
	// Client reads from the manager's cache, which holds ConfigMaps, Secrets and Namespaces as
	// metadata only.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Events tells people what they would otherwise miss.
	Events events.EventRecorder
	// Clock tells when a suspension ends.
	Clock clock.PassiveClock
	// Charts fetches Helm charts in the background; Done of its options is Fetched.
	Charts *charts.Desk[types.NamespacedName]
	// Inspector looks into charts that were fetched.
	Inspector Inspector
	// ProviderNamespace is where add-ons may select clusters of other namespaces.
	ProviderNamespace string

	writes    ownWrites
	contents  contentMemory
	abandoned abandonedMemory
	fetches   fetchMemory
	fetched   chan event.GenericEvent
}

// Reconcile brings one SaaSAddon a step further.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	seen, err := r.observe(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	if seen == nil {
		r.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if seen.cacheBehind {
		return reconcile.Result{RequeueAfter: catchUp}, nil
	}

	todo := plan(*seen)
	done := r.apply(ctx, seen, todo)
	if done.released {
		r.announceAbandoned(*seen)
		r.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}

	said := report(*seen, todo, done)
	err = r.publish(ctx, seen.addon, said)
	switch {
	case err == nil:
		r.abandoned.forget(request.NamespacedName, seen.abandoned)
	case apierrors.IsConflict(err):
		done.outdated, err = true, nil
	}
	if err := errors.Join(done.err, err); err != nil {
		return reconcile.Result{}, err
	}
	if done.outdated {
		return reconcile.Result{RequeueAfter: catchUp}, nil
	}
	return reconcile.Result{RequeueAfter: done.lookAgain(said.again)}, nil
}

func (r *Reconciler) forget(addon types.NamespacedName) {
	r.writes.forget(addon)
	r.contents.forget(addon)
	r.abandoned.forgetAll(addon)
	r.fetches.forget(addon)
	r.Charts.Forget(addon)
}
