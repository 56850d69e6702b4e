package saasaddon

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
)

const (
	// coalescing is how long events of targets and clusters wait for others of the same add-on.
	// Targets become ready in bursts; one reconcile and one status write then do for the burst,
	// and a freed slot is used again within a small part of the time that a target takes.
	coalescing = 50 * time.Millisecond

	backoffFirst = 100 * time.Millisecond
	backoffLast  = 2 * time.Minute

	defaultWorkers = 4

	// indexReference finds the add-ons that refer to a ConfigMap or a Secret.
	indexReference = "spec.references"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Options of the controller.
type Options struct {
	// MaxConcurrentReconciles is how many add-ons are reconciled at the same time; 4 if it is 0.
	MaxConcurrentReconciles int
	// Wrap decorates the reconciler, if set.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, opts Options) error {
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &addonsv1alpha1.SaaSAddon{}, indexReference, indexReferences); err != nil {
		return err
	}
	r.fetched = make(chan event.GenericEvent, 1024)
	if opts.MaxConcurrentReconciles == 0 {
		opts.MaxConcurrentReconciles = defaultWorkers
	}
	var reconciler reconcile.Reconciler = r
	if opts.Wrap != nil {
		reconciler = opts.Wrap(reconciler)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("saasaddon").
		For(&addonsv1alpha1.SaaSAddon{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&addonsv1alpha1.AddonRelease{}, r.targetEvents()).
		Watches(&tenancyv1alpha1.TenantCluster{}, coalesced(r.addonsOfCluster), builder.WithPredicates(clusterChanged())).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.addonsReferringTo("ConfigMap"))).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.addonsReferringTo("Secret"))).
		WatchesRawSource(source.Channel(r.fetched, &handler.EnqueueRequestForObject{})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(addonOfRevision), builder.WithPredicates(onlyDeleted())).
		WatchesMetadata(&corev1.Namespace{}, coalesced(r.providerAddons), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: opts.MaxConcurrentReconciles,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](backoffFirst, backoffLast),
		}).
		Complete(reconciler)
}

// targetEvents wakes a target's add-on when something changed that it reports or decides by.
func (r *Reconciler) targetEvents() handler.EventHandler {
	wake := func(target client.Object, queue queue) {
		queue.AddAfter(reconcile.Request{NamespacedName: addonOf(target)}, coalescing)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, created event.CreateEvent, queue queue) { wake(created.Object, queue) },
		UpdateFunc: func(_ context.Context, updated event.UpdateEvent, queue queue) {
			before, after := updated.ObjectOld.(*addonsv1alpha1.AddonRelease), updated.ObjectNew.(*addonsv1alpha1.AddonRelease)
			r.abandoned.note(addonOf(after), after)
			if viewOfTarget(before) != viewOfTarget(after) {
				wake(after, queue)
			}
		},
		DeleteFunc: func(_ context.Context, deleted event.DeleteEvent, queue queue) {
			target := deleted.Object.(*addonsv1alpha1.AddonRelease)
			r.abandoned.note(addonOf(target), target)
			r.writes.gone(addonOf(target), target.Name)
			wake(target, queue)
		},
	}
}

// targetView is all that an add-on cares for in a target's changes.
type targetView struct {
	generation int64
	state      int
	message    string
	deleting   bool
	abandoned  string
}

func viewOfTarget(target *addonsv1alpha1.AddonRelease) targetView {
	state, message := stateOf(target)
	return targetView{
		generation: target.Generation, state: int(state), message: message,
		deleting: !target.DeletionTimestamp.IsZero(), abandoned: target.Annotations[metav1alpha1.AnnotationAbandon],
	}
}

func addonOf(target client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: target.GetNamespace(), Name: target.GetLabels()[metav1alpha1.LabelPolicy]}
}

// clusterChanged lets through what decides about selection and rollouts.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(updated event.UpdateEvent) bool {
		before, after := updated.ObjectOld.(*tenancyv1alpha1.TenantCluster), updated.ObjectNew.(*tenancyv1alpha1.TenantCluster)
		return !maps.Equal(before.Labels, after.Labels) || viewOfCluster(before) != viewOfCluster(after)
	}}
}

type clusterView struct {
	connected    bool
	version      string
	suspend      bool
	suspendUntil string
	deleting     bool
	keepsTargets bool
	upgrading    bool
	windows      int
	window       tenancyv1alpha1.Span
}

func viewOfCluster(cluster *tenancyv1alpha1.TenantCluster) clusterView {
	return clusterView{
		connected: isConnected(cluster), version: minorVersion(cluster.Status.Version),
		suspend: cluster.Spec.Suspend, suspendUntil: cluster.Annotations[metav1alpha1.AnnotationSuspendUntil],
		deleting: !cluster.DeletionTimestamp.IsZero(), keepsTargets: cluster.KeepsTargets(), upgrading: cluster.Status.Upgrade != nil,
		windows: len(cluster.Spec.MaintenanceWindows),
		window:  ptr.Deref(cluster.Status.MaintenanceWindow, tenancyv1alpha1.Span{}),
	}
}

// addonsOfCluster are all add-ons that may select a cluster, or did before.
func (r *Reconciler) addonsOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	requests := r.addonsIn(ctx, cluster.GetNamespace())
	if cluster.GetNamespace() == r.ProviderNamespace {
		return requests
	}
	return append(requests, r.addonsIn(ctx, r.ProviderNamespace)...)
}

func (r *Reconciler) providerAddons(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.addonsIn(ctx, r.ProviderNamespace)
}

// addonsReferringTo are the add-ons that refer to an object of a kind.
func (r *Reconciler) addonsReferringTo(kind string) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		wanted := reference{kind, object.GetName()}.String()
		return r.addonsIn(ctx, object.GetNamespace(), client.MatchingFields{indexReference: wanted})
	}
}

func indexReferences(object client.Object) []string {
	addon := object.(*addonsv1alpha1.SaaSAddon)
	var names []string
	for _, one := range append(references(addon), accessReferences(addon)...) {
		names = append(names, one.String())
	}
	return names
}

// Fetched wakes an add-on whose chart is there.
func (r *Reconciler) Fetched(addon types.NamespacedName) {
	r.fetched <- event.GenericEvent{Object: &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Namespace: addon.Namespace, Name: addon.Name},
	}}
}

func (r *Reconciler) addonsIn(ctx context.Context, namespace string, opts ...client.ListOption) []reconcile.Request {
	addons := &addonsv1alpha1.SaaSAddonList{}
	opts = append(opts, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
	if err := r.Client.List(ctx, addons, opts...); err != nil {
		log.FromContext(ctx).Error(err, "Add-ons could not be listed from the cache", "namespace", namespace)
		return nil
	}
	var requests []reconcile.Request
	for i := range addons.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&addons.Items[i])})
	}
	return requests
}

// addonOfRevision: a revision that somebody deleted is written again.
func addonOfRevision(_ context.Context, secret client.Object) []reconcile.Request {
	if secret.GetLabels()[revision.LabelPolicyKind] != addonKind {
		return nil
	}
	return []reconcile.Request{{NamespacedName: addonOf(secret)}}
}

func onlyDeleted() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}

// coalesced wakes add-ons together that many events concern.
func coalesced(toAddons handler.MapFunc) handler.EventHandler {
	wake := func(ctx context.Context, object client.Object, queue queue) {
		for _, request := range toAddons(ctx, object) {
			queue.AddAfter(request, coalescing)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, created event.CreateEvent, queue queue) { wake(ctx, created.Object, queue) },
		UpdateFunc: func(ctx context.Context, updated event.UpdateEvent, queue queue) { wake(ctx, updated.ObjectNew, queue) },
		DeleteFunc: func(ctx context.Context, deleted event.DeleteEvent, queue queue) { wake(ctx, deleted.Object, queue) },
	}
}
