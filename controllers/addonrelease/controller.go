package addonrelease

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/statuses"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
)

// The verb manage tells the manager from everybody else: see config/admission/manager_only.yaml.
// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=addonreleases,verbs=get;list;watch;patch;manage
// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=addonreleases/status,verbs=get;patch
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps AddonReleases as their revisions declare them.
type Reconciler struct {
	// Client reads from the manager's cache and writes to the management cluster.
	Client client.Client
	// APIReader reads revisions, which are Secrets, past the cache.
	APIReader client.Reader
	// Fleet of connected workload clusters.
	Fleet *fleet.Fleet
	// Targets are all kinds that may have something in a cluster.
	Targets targets.Registry
	// Renderer of manifests.
	Renderer *render.Pool
	// Rules that say which changes are drift.
	Rules managedfields.Rules
	// Installation is the value of the label daytwo.dev/managed-by.
	Installation string
	Recorder     events.EventRecorder
	// Orphans is where what may outlive a cluster is recorded.
	Orphans orphans.Records
	Metrics *target.Metrics
	Clock   clock.PassiveClock
	Log     logr.Logger

	// WebhookPatience of removals; DefaultWebhookPatience if it is zero.
	WebhookPatience time.Duration

	caches caches
	room   *room
}

// What the room knows and writes of an AddonRelease.
type (
	room         = target.Reconciler[*addonsv1alpha1.AddonRelease, addonsv1alpha1.AddonReleaseStatus, remembered]
	known        = target.Known[*addonsv1alpha1.AddonRelease, addonsv1alpha1.AddonReleaseStatus, remembered]
	statusWriter = statuses.Writer[*addonsv1alpha1.AddonRelease, addonsv1alpha1.AddonReleaseStatus]
)

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options target.Options) error {
	r.caches = newCaches()
	r.room = r.newRoom()
	return r.room.SetupWithManager(mgr, options)
}

func (r *Reconciler) newRoom() *room {
	return &room{
		Client: r.Client, APIReader: r.APIReader, Fleet: r.Fleet, Targets: r.Targets, Recorder: r.Recorder, Orphans: r.Orphans,
		Metrics: r.Metrics, Log: r.Log, Kind: r,
	}
}

// Work implements target.Kind: it observes, plans, applies and reports.
func (r *Reconciler) Work(ctx context.Context, release *addonsv1alpha1.AddonRelease, known *known) (ctrl.Result, error) {
	o, cluster, err := r.observe(ctx, release, known)
	if err != nil {
		return ctrl.Result{}, err
	}
	if o.IsWaiting() && !o.isAbandonable() {
		return ctrl.Result{RequeueAfter: o.UntilGivenUp()}, nil
	}
	p := makePlan(o)
	if err := r.commit(ctx, o, cluster); err != nil {
		return ctrl.Result{}, err
	}
	writer := r.room.Writer(release, known)
	done := r.apply(ctx, o, p, cluster, writer)
	known.Kind.recordPending = done.helm.RecordPending
	if err := r.room.RecordKept(ctx, release, o.Observation, o.status.ClusterID, done.Result); err != nil {
		return ctrl.Result{}, err
	}
	o.Inventory = done.Inventory
	told := makeReport(o, p, done, o.Look(ctx, done.Result, cluster))
	r.announce(o, done)
	o.status = told.status
	return r.room.Conclude(ctx, release, known, writer, cluster, target.Conclusion[addonsv1alpha1.AddonReleaseStatus]{
		Findings: told.findings, Status: &told.status, Told: statusOf(&told.status), Incomplete: told.incomplete, Due: told.due,
		Ends: p.finalize && done.Err == nil && (told.emptied || o.isAbandonable()), Left: o.leftovers(),
		Keeps: func(key objects.Key) bool { return helm.Owns(told.status.Helm, key) },
	})
}
