package policy

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fairqueue"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/trial"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

const (
	backoffFirst = 100 * time.Millisecond
	backoffLast  = 2 * time.Minute

	defaultWorkers = 8

	// indexReference finds the policies that refer to a ConfigMap or a Secret.
	indexReference = "spec.references"
	// indexPolicy finds the targets of a policy.
	indexPolicy = "metadata.labels.policy"
)

// Options of the controller.
type Options struct {
	// MaxConcurrentReconciles is how many policies are reconciled at the same time; 8 if it is 0.
	MaxConcurrentReconciles int
	// WithdrawalGuardMax bounds the withdrawal guards of policies outside of the provider's namespace; zero for nothing.
	WithdrawalGuardMax rollout.Guard
	// Wrap decorates the reconciler, if set.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
	// StatusPause is between two statuses of a policy that only mirror its targets.
	StatusPause throttle.Pause
	// ClusterInterval is the least time between two reconciles because of what people change on one TenantCluster, such as
	// its labels; 0 for none.
	ClusterInterval time.Duration
	// AtEnd has something done once the manager was told to stop and no reconcile is under way; nil where statuses that were
	// put off need not be written then.
	AtEnd func(do func(ctx context.Context) error) error
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler[P, T]) SetupWithManager(mgr ctrl.Manager, opts Options) error {
	kind, err := r.Client.GroupVersionKindFor(r.Kind.NewPolicy())
	if err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), r.Kind.NewPolicy(), indexReference, r.referencesOf); err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), r.Kind.NewTarget(), indexPolicy, policyOf); err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), revision.Metadata(), revisionIndex(kind.Kind), policyOfRevisions(kind.Kind)); err != nil {
		return err
	}
	if opts.AtEnd != nil {
		if err := opts.AtEnd(r.WriteUnsaved); err != nil {
			return err
		}
	}
	r.views.provider, r.pause, r.guardMax, r.pace.Interval = r.ProviderNamespace, opts.StatusPause, opts.WithdrawalGuardMax, opts.ClusterInterval
	r.woken = make(chan event.GenericEvent, 1024)
	if opts.MaxConcurrentReconciles == 0 {
		opts.MaxConcurrentReconciles = defaultWorkers
	}
	var reconciler reconcile.Reconciler = r
	if opts.Wrap != nil {
		reconciler = opts.Wrap(reconciler)
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(kind.Kind)).
		For(r.Kind.NewPolicy(), builder.WithPredicates(predicate.And(
			r.written.CaughtUp(), predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})))).
		Watches(r.Kind.NewTarget(), r.targetEvents()).
		Watches(&tenancyv1alpha1.TenantCluster{}, r.clusterEvents()).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.policiesReferringTo("ConfigMap"))).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.policiesReferringTo("Secret"))).
		WatchesRawSource(source.Channel(r.woken, &handler.EnqueueRequestForObject{})).
		WatchesMetadata(&corev1.Secret{}, r.revisionEvents(kind.Kind)).
		WatchesMetadata(&corev1.Namespace{}, r.namespaceEvents(), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: opts.MaxConcurrentReconciles,
			NewQueue:                fairqueue.For(opts.MaxConcurrentReconciles, fairqueue.InNamespace(r.Client, r.Kind.NewPolicy)),
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](backoffFirst, backoffLast),
		})
	if _, tried := r.Kind.(TriedKind); tried {
		r.trials = trial.New()
		if err := r.trials.AddTo(mgr, b); err != nil {
			return err
		}
	}
	return b.Complete(reconciler)
}

// policyOf is the index of targets by their policy.
func policyOf(target client.Object) []string {
	return []string{target.GetLabels()[metav1alpha1.LabelPolicy]}
}

// revisionIndex finds the revisions of a policy of a kind. Each kind has its own: the cache of Secrets is shared.
func revisionIndex(kind string) string { return "metadata.labels.policy-of-" + strings.ToLower(kind) }

// policyOfRevisions is the index of Secrets by the policy whose revision they hold.
func policyOfRevisions(kind string) client.IndexerFunc {
	return func(secret client.Object) []string {
		if secret.GetLabels()[revision.LabelPolicyKind] != kind {
			return nil
		}
		return policyOf(secret)
	}
}

// referencesOf is the index of policies by what they refer to.
func (r *Reconciler[P, T]) referencesOf(object client.Object) []string {
	var names []string
	for _, one := range r.Kind.References(object.(P)) {
		names = append(names, one.String())
	}
	return names
}
