package tenantcluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

// outcome is what came of a decision.
type outcome struct {
	// cluster as the API server has it now.
	cluster *tenancyv1alpha1.TenantCluster
	// link is how the connection stands now; nil if there is none.
	link *fleet.State
	// claimed: another TenantCluster was admitted to the cluster first.
	claimed bool
	// order is what came of the order.
	order orderOutcome
	// released: the TenantCluster is gone, or will be as soon as others let it.
	released bool
	// releasing: the TenantCluster could not be let go, though nothing else is left to do.
	releasing bool
	// unrecorded: what was given up could not be told, so the deletion is where it was.
	unrecorded bool
	err        error
}

// apply carries a decision out. Nothing connects before the finalizers are there.
func (r *reconciler) apply(ctx context.Context, seen observed, todo decision) outcome {
	if err := r.recordGivenUp(ctx, seen, todo.deletion); err != nil {
		return outcome{cluster: seen.cluster.DeepCopy(), link: seen.link, unrecorded: true, err: err}
	}
	if todo.release {
		return r.release(ctx, seen, todo)
	}
	if todo.connection == disconnect {
		seen.link = nil
	}
	done := outcome{cluster: seen.cluster.DeepCopy(), link: seen.link}
	if done.err = r.patchMetadata(ctx, done.cluster, todo); done.err != nil {
		return done
	}
	var ordering error
	done.order, ordering = r.applyOrder(ctx, seen, todo.order)
	done.err = errors.Join(ordering, r.holdSecret(ctx, todo.holdSecret), r.releaseSecrets(ctx, todo.releaseSecrets),
		r.requestBackups(ctx, todo.deletion.Request, requestTime(seen)))
	r.changeConnection(seen, todo.connection)
	done.claimed = r.changeAdmission(seen.key, todo)
	if state, ok := r.connections.State(seen.key); ok {
		done.link = &state
	}
	return done
}

// release lets go of a TenantCluster. What keeps that from succeeding is told, where there is still somebody to
// tell it of.
func (r *reconciler) release(ctx context.Context, seen observed, todo decision) outcome {
	if err := errors.Join(r.confirmGone(ctx, seen), r.confirmLeft(ctx, seen)); err != nil {
		return outcome{released: true, err: err}
	}
	r.connections.Forget(seen.key)
	err := r.letGo(ctx, seen, todo)
	if err == nil || seen.cluster == nil || apierrors.IsConflict(err) {
		return outcome{released: true, err: err}
	}
	return outcome{cluster: seen.cluster.DeepCopy(), releasing: true, err: err}
}

// letGo removes our own finalizer last.
func (r *reconciler) letGo(ctx context.Context, seen observed, todo decision) error {
	if err := r.releaseSecrets(ctx, todo.releaseSecrets); err != nil || seen.cluster == nil {
		return err
	}
	if err := r.recordRemaining(ctx, seen); err != nil {
		return err
	}
	cluster := seen.cluster.DeepCopy()
	if !controllerutil.RemoveFinalizer(cluster, metav1alpha1.FinalizerCluster) {
		return nil
	}
	return client.IgnoreNotFound(r.client.Patch(ctx, cluster, guardedPatch(seen.cluster)))
}

// patchMetadata adds our finalizer and label to the TenantCluster.
func (r *reconciler) patchMetadata(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster, todo decision) error {
	before := cluster.DeepCopy()
	changed := todo.addFinalizer && controllerutil.AddFinalizer(cluster, metav1alpha1.FinalizerCluster)
	if cluster.Labels[metav1alpha1.LabelClusterID] != todo.clusterID {
		changed = true
		setLabel(cluster, metav1alpha1.LabelClusterID, todo.clusterID)
	}
	if !changed {
		return nil
	}
	if err := r.client.Patch(ctx, cluster, guardedPatch(before)); err != nil {
		return fmt.Errorf("add finalizer and label: %w", err)
	}
	return nil
}

func setLabel(object metav1.Object, key, value string) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	if value == "" {
		delete(labels, key)
	}
	object.SetLabels(labels)
}

// guardedPatch is a merge patch that fails if the object has changed since: a list of finalizers is
// replaced as a whole.
func guardedPatch(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

func (r *reconciler) holdSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) error {
	if secret == nil {
		return nil
	}
	held := secret.DeepCopy()
	controllerutil.AddFinalizer(held, metav1alpha1.FinalizerAccess)
	if err := r.client.Patch(ctx, held, guardedPatch(secret)); err != nil {
		return fmt.Errorf("add finalizer to Secret %s: %w", secret.Name, err)
	}
	return nil
}

func (r *reconciler) releaseSecrets(ctx context.Context, secrets []metav1.PartialObjectMetadata) error {
	var problems []error
	for i := range secrets {
		secret := secrets[i].DeepCopy()
		secret.SetGroupVersionKind(secretMetadata().GroupVersionKind())
		before := secret.DeepCopy()
		controllerutil.RemoveFinalizer(secret, metav1alpha1.FinalizerAccess)
		if err := r.client.Patch(ctx, secret, guardedPatch(before)); client.IgnoreNotFound(err) != nil {
			problems = append(problems, fmt.Errorf("remove finalizer from Secret %s: %w", secret.Name, err))
		}
	}
	return errors.Join(problems...)
}

func (r *reconciler) changeConnection(seen observed, change connectionChange) {
	switch change {
	case connect:
		r.connections.Connect(seen.key, seen.credentials.access)
		r.memory.link(seen.key, seen.credentials.access.Fingerprint())
	case disconnect:
		r.connections.Disconnect(seen.key)
		r.memory.link(seen.key, "")
	case tryNow:
		r.connections.TryNow(seen.key)
	}
	r.memory.handle(seen.key, requestIn(seen.cluster))
}

func (r *reconciler) changeAdmission(key types.NamespacedName, todo decision) (claimed bool) {
	switch todo.admission {
	case admit:
		return errors.Is(r.connections.Admit(key, todo.verdict.identity), fleet.ErrClaimed)
	case withdraw:
		r.connections.Withdraw(key)
	}
	return false
}

// publish writes the status, if it changed, and the events.
func (r *reconciler) publish(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster, said said) error {
	r.announce(cluster, said.happened)
	if said.changed {
		before := cluster.DeepCopy()
		cluster.Status = said.status
		if err := r.client.Status().Patch(ctx, cluster, guardedPatch(before)); err != nil {
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("write status: %w", err)
		}
	}
	r.announce(cluster, said.events)
	return nil
}

func (r *reconciler) announce(cluster *tenancyv1alpha1.TenantCluster, events []announcement) {
	for _, event := range events {
		r.events.Eventf(cluster, nil, event.kind, event.reason, event.action, "%s", event.note)
	}
}
