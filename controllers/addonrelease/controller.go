package addonrelease

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

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
	// Renderer of manifests.
	Renderer *render.Pool
	// Rules that say which changes are drift.
	Rules managedfields.Rules
	// Installation is the value of the label daytwo.dev/managed-by.
	Installation string
	Recorder     events.EventRecorder
	// Orphans is where what may outlive a cluster is recorded.
	Orphans orphans.Ledger
	Metrics *Metrics
	Clock   clock.PassiveClock
	Log     logr.Logger

	// WebhookPatience of removals; DefaultWebhookPatience if it is zero.
	WebhookPatience time.Duration

	memory memory
	caches caches
}

// Reconcile observes, plans, applies and reports.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	release := &addonsv1alpha1.AddonRelease{}
	if err := r.Client.Get(ctx, request.NamespacedName, release); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.forget(request)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	known := r.memory.of(request.NamespacedName)
	known.freshen(release)
	o, cluster, err := r.observe(ctx, release, known)
	if err != nil {
		return ctrl.Result{}, err
	}
	if o.waiting() && !o.isAbandonable() {
		return ctrl.Result{RequeueAfter: o.untilGivenUp()}, nil
	}
	p := makePlan(o)
	if err := r.commit(ctx, o, cluster); err != nil {
		return ctrl.Result{}, err
	}
	writer := r.statusWriter(release, known)
	done := r.apply(ctx, o, p, cluster, writer)
	known.recordPending = done.helm.RecordPending
	if err := r.recordKept(ctx, o, done); err != nil {
		return ctrl.Result{}, err
	}
	o.Inventory = done.Inventory
	told := makeReport(o, p, done, r.look(ctx, o, done, cluster))
	r.remember(o, p, done, known)
	r.announce(o, told, done)
	if told.incomplete {
		known.unsaved = release.DeepCopy()
		known.unsaved.Status = told.status
		return ctrl.Result{RequeueAfter: apply.SightOfWrites}, nil
	}
	if err := writer.write(ctx, told.status); err != nil {
		return ctrl.Result{}, err
	}
	known.unsaved = nil
	if cluster != nil {
		retainClaims(o, told.status, cluster)
	}
	if o.status = told.status; p.finalize && done.Err == nil && (told.emptied || o.isAbandonable()) {
		return ctrl.Result{}, r.removeFinalizer(ctx, o, writer.stored)
	}
	return told.next(release, o.Now)
}

// statusWriter writes the status of a release as it was just read.
func (r *Reconciler) statusWriter(release *addonsv1alpha1.AddonRelease, known *remembered) *statusWriter {
	return &statusWriter{client: r.Client, apiReader: r.APIReader, stored: release, wrote: known.wrote}
}

// next asks for another try where one may help, or at the time that was computed.
func (r report) next(release *addonsv1alpha1.AddonRelease, now time.Time) (ctrl.Result, error) {
	if r.failure != nil {
		return ctrl.Result{}, fmt.Errorf("%s in %s: %w", release.Name, clusterKey(release), r.failure)
	}
	if !r.due.IsZero() {
		return ctrl.Result{RequeueAfter: max(r.due.Sub(now), time.Millisecond)}, nil
	}
	return ctrl.Result{}, nil
}

// remember keeps what the next reconcile needs to know, and counts drift that is left in place.
func (r *Reconciler) remember(o observation, p plan, done result, known *remembered) {
	known.series = seriesOf(o.release)
	known.set.Take(o.Observation, done.Result, done.corrections())
	r.countReported(o.release, p, known)
}

// retainClaims ends the claims on what the release has nothing to do with any more. A status says so that was written:
// otherwise the next reconcile goes on from an older one, and a watch does not show once more what it showed before.
func retainClaims(o observation, written addonsv1alpha1.AddonReleaseStatus, cluster *fleet.Cluster) {
	declared := map[objects.Key]bool{}
	for _, d := range o.Desired {
		declared[d.Key()] = true
	}
	cluster.Tracker.Retain(ownerOf(o.release), func(key objects.Key) bool {
		_, listed := o.Inventory[key]
		return listed || declared[key] || helm.Owns(written.Helm, key)
	})
}

// removeFinalizer lets the release go: nothing is left to do in the cluster, or nothing will be done.
func (r *Reconciler) removeFinalizer(ctx context.Context, o observation, release *addonsv1alpha1.AddonRelease) error {
	if err := r.recordUnremoved(ctx, o); err != nil {
		return err
	}
	r.Fleet.Tracker(clusterKey(release)).Retain(ownerOf(release), func(objects.Key) bool { return false })
	before := release.DeepCopy()
	controllerutil.RemoveFinalizer(release, metav1alpha1.FinalizerTarget)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Client.Patch(ctx, release, patch))
}

func (r *Reconciler) forget(request ctrl.Request) {
	r.Metrics.forget(r.memory.of(request.NamespacedName).series)
	r.memory.forget(request.NamespacedName)
}
