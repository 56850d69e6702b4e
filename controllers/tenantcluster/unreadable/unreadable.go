// Package unreadable tells of a TenantCluster whose Secrets the manager may not read, in its conditions.
package unreadable

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
)

// Reconciler decorates that of TenantClusters. Where it ends with a *secretaccess.Error, nothing can be concluded of the Secrets:
// not that one is missing, nor that one is not needed any more. So a cluster that is connected stays connected, one that is not is
// not tried, and a deletion waits.
type Reconciler struct {
	reconcile.Reconciler
	Client client.Client
	Events events.EventRecorder
	Clock  clock.PassiveClock
}

// Reconcile implements reconcile.Reconciler.
func (r Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := r.Reconciler.Reconcile(ctx, request)
	denied := secretaccess.Of(err)
	if denied == nil {
		return result, err
	}
	if err := r.tell(ctx, request, denied); err != nil {
		return reconcile.Result{}, err
	}
	return secretaccess.Retry(denied)
}

// tell writes the status, if it changed, and an Event.
func (r Reconciler) tell(ctx context.Context, request reconcile.Request, denied *secretaccess.Error) error {
	cluster := &tenancyv1alpha1.TenantCluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, cluster); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := cluster.DeepCopy()
	Report(&cluster.Status, before, r.Clock, denied)
	if equality.Semantic.DeepEqual(before.Status, cluster.Status) {
		return nil
	}
	err := r.Client.Status().Patch(ctx, cluster, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // The next try, which follows soon, tells it.
	}
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	if is := conditions.News(before.Status.Conditions, cluster.Status.Conditions, metav1alpha1.ConditionReady); is != nil {
		r.Events.Eventf(cluster, nil, corev1.EventTypeWarning, is.Reason, "ReadSecrets", "%s", is.Message)
	}
	return nil
}

// Report writes into a status that Secrets cannot be read. What is known of the connection stands.
func Report(status *tenancyv1alpha1.TenantClusterStatus, cluster *tenancyv1alpha1.TenantCluster, clock clock.PassiveClock, denied *secretaccess.Error) {
	list := conditions.List{Conditions: &status.Conditions, Generation: cluster.Generation, Now: clock.Now()}
	message := denied.Error()
	if !cluster.DeletionTimestamp.IsZero() {
		message = "the deletion waits: " + message
	}
	list.Set(tenancyv1alpha1.ConditionKubeconfigValid, metav1.ConditionUnknown, metav1alpha1.ReasonSecretsNotReadable, message)
	list.Summarize(metav1.ConditionFalse, metav1alpha1.ReasonSecretsNotReadable, message, metav1alpha1.ConditionStalled)
	status.ObservedGeneration = cluster.Generation
}
