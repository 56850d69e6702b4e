package addonrelease

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
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
	// Reader reads revisions, which are Secrets, past the cache.
	Reader client.Reader
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
	o, cluster, err := r.survey(ctx, release, known)
	if err != nil {
		return ctrl.Result{}, err
	}
	if o.waiting() && !o.isFreed() {
		return ctrl.Result{RequeueAfter: o.untilDeparture()}, nil
	}
	p := makePlan(o)
	done := r.apply(ctx, &o, p, cluster)
	done.refusals = o.refusals(p, done.written)
	if err := r.recordKept(ctx, o, done); err != nil {
		return ctrl.Result{}, err
	}
	o.inventory = o.inventory.after(done)
	done.tolerated = tolerated(o.inventory, cluster)
	health := r.health(ctx, o, cluster)
	if cluster != nil {
		o.wakeUnseen(&done, cluster.Tracker, health)
	}
	release.Status = report(o, p, done, health)

	r.remember(o, done, known)
	r.announce(o, release, done)
	r.countReported(release, p, known)
	if o.mayWait(done, health) {
		known.unsaved = release.DeepCopy()
		return ctrl.Result{RequeueAfter: sightOfWrites}, nil
	}
	if err := r.writeStatus(ctx, &o); err != nil {
		return ctrl.Result{}, err
	}
	known.unsaved = nil
	if cluster != nil {
		retainClaims(o, cluster)
	}
	if p.release && done.err == nil && (o.emptied(p, done) || o.isFreed()) {
		return ctrl.Result{}, r.letGo(ctx, o, release)
	}
	return r.next(o, p, done, release)
}

// survey observes, and passes over what goes wrong where nothing is done in the cluster any more. What the release is
// about to forget is in the ledger afterwards.
func (r *Reconciler) survey(ctx context.Context, release *addonsv1alpha1.AddonRelease, known *remembered) (observed, *fleet.Cluster, error) {
	o, cluster, err := r.observe(ctx, release, known)
	if err := r.recordReplaced(ctx, o); err != nil {
		return o, nil, err
	}
	if err != nil && o.isFreed() {
		o.unreachable, cluster, err = cmp.Or(o.unreachable, err.Error()), nil, nil
	}
	return o, cluster, err
}

// next asks for another try where one may help, or at the time that was computed.
func (r *Reconciler) next(o observed, p plan, done outcome, release *addonsv1alpha1.AddonRelease) (ctrl.Result, error) {
	if trouble := judge(o, p, done); trouble != nil && trouble.reason == metav1alpha1.ReasonFailed && o.unreachable == "" {
		return ctrl.Result{}, fmt.Errorf("%s in %s: %s", release.Name, clusterKey(release), trouble.message)
	}
	if at := due(o, p, done, release.Status); !at.IsZero() {
		return ctrl.Result{RequeueAfter: max(at.Sub(o.now), time.Millisecond)}, nil
	}
	return ctrl.Result{}, nil
}

// sightOfWrites is how long the watches have to show what was applied, before it is told without.
const sightOfWrites = 250 * time.Millisecond

// mayWait: everything was applied, and all that is missing is what the watches are about to show. One
// status then does for both. Hooks are told of at once: they are not to run twice.
func (o observed) mayWait(done outcome, health map[objects.Key]fleet.Health) bool {
	if o.restored || len(done.written) == 0 || len(done.failed()) > 0 || done.err != nil || o.release.Status.Applying != "" || !o.release.DeletionTimestamp.IsZero() {
		return false
	}
	if helm := o.release.Status.Helm; helm != nil && helm.Operation != nil && len(helm.Operation.Hooks) > 0 {
		return false
	}
	for _, is := range health {
		if is == notSeenYet {
			return true
		}
	}
	return false
}

// emptied: nothing that is ours is left in the cluster.
func (o observed) emptied(p plan, done outcome) bool {
	return len(o.release.Status.Inventory) == 0 && done.hook == nil && (!p.helm.purge || done.purged)
}

// remember keeps what the next reconcile needs to know.
func (r *Reconciler) remember(o observed, done outcome, known *remembered) {
	known.series, known.recordPending = seriesOf(o.release), o.recordPending
	known.lastWrite = o.lastWritten(done)
	for _, w := range done.corrections() {
		known.fights[w.Key()] = known.fights[w.Key()].after(w.at, w.culprit.manager)
	}
	for _, w := range done.written {
		delete(known.refused, w.Key())
	}
	maps.Copy(known.refused, done.refusals)
	for _, e := range done.gone {
		delete(known.fights, e.Key())
	}
	known.keepDeletions(o.inventory, done.deletions)
}

// retainClaims ends the claims on what the release has nothing to do with any more. A status says so that was written:
// otherwise the next reconcile goes on from an older one, and a watch does not show once more what it showed before.
func retainClaims(o observed, cluster *fleet.Cluster) {
	declared := map[objects.Key]bool{}
	for _, d := range o.desired {
		declared[d.Key()] = true
	}
	cluster.Tracker.Retain(ownerOf(o.release), func(key objects.Key) bool {
		_, listed := o.inventory[key]
		return listed || declared[key] || belongsToHelm(o.release, key)
	})
}

// health looks at the inventory as it is now. What has no status is fine as soon as it was applied.
func (r *Reconciler) health(ctx context.Context, o observed, cluster *fleet.Cluster) map[objects.Key]fleet.Health {
	if cluster == nil {
		return nil
	}
	health := make(map[objects.Key]fleet.Health, len(o.inventory))
	for key, e := range o.inventory {
		if _, unknown := o.unknown[key.GroupKind]; unknown || e.unwatched() {
			continue
		}
		seen, current := cluster.Tracker.Current(key)
		switch {
		case current && seen.Gone:
			health[key] = isGone
		case current:
			health[key] = seen.Health
		default:
			if resource, err := cluster.Resource(ctx, e.GroupVersionKind); err == nil && resource.HasStatus {
				health[key] = notSeenYet
			}
		}
	}
	return health
}

// letGo removes the finalizer: nothing is left to do in the cluster, or nothing will be done.
func (r *Reconciler) letGo(ctx context.Context, o observed, release *addonsv1alpha1.AddonRelease) error {
	if err := r.recordUnremoved(ctx, o); err != nil {
		return err
	}
	r.Fleet.Tracker(clusterKey(release)).Retain(ownerOf(release), func(objects.Key) bool { return false })
	before := release.DeepCopy()
	finalizers := release.Finalizers[:0:0]
	for _, finalizer := range release.Finalizers {
		if finalizer != metav1alpha1.FinalizerTarget {
			finalizers = append(finalizers, finalizer)
		}
	}
	release.Finalizers = finalizers
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Client.Patch(ctx, release, patch))
}

func (r *Reconciler) forget(request ctrl.Request) {
	r.Metrics.forget(r.memory.of(request.NamespacedName).series)
	r.memory.forget(request.NamespacedName)
}
