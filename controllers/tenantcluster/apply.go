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
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusterapi"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/heldsecret"
)

// result is what came of a decision.
type result struct {
	// cluster as the API server has it now.
	cluster *tenancyv1alpha1.TenantCluster
	// link is how the connection stands now; nil if there is none.
	link *fleet.State
	// claimed: another TenantCluster was admitted to the cluster first.
	claimed bool
	// handout is why the customer's copy of the kubeconfig could not be written.
	handout error
	// order is what came of the order.
	order clusterapi.Answer
	// released: the TenantCluster is gone, or will be as soon as others let it.
	released bool
	// releasing: the TenantCluster could not be let go, though nothing else is left to do.
	releasing bool
	// unrecorded: what was given up could not be told, so the deletion is where it was.
	unrecorded bool
	err        error
}

// apply carries a decision out. Nothing connects before the finalizers are there.
func (r *reconciler) apply(ctx context.Context, o observation, p plan) result {
	if err := r.recordGivenUp(ctx, o, p.deletion); err != nil {
		return result{cluster: o.cluster.DeepCopy(), link: o.link, unrecorded: true, err: err}
	}
	if p.release {
		return r.release(ctx, o, p)
	}
	if p.connection == disconnect {
		o.link = nil
	}
	done := result{cluster: o.cluster.DeepCopy(), link: o.link}
	if done.err = r.patchMetadata(ctx, done.cluster, p); done.err != nil {
		return done
	}
	var ordering error
	done.order, ordering = r.applyOrder(ctx, o, p.order)
	done.err = errors.Join(ordering, heldsecret.Hold(ctx, r.client, p.holdSecret), heldsecret.Release(ctx, r.client, p.releaseSecrets),
		r.remaining().RequestBackups(ctx, p.deletion.Request, requestTime(o)))
	done.handout = p.handout.Apply(ctx, r.client)
	r.changeConnection(o, p.connection)
	done.claimed = r.changeAdmission(o.key, p)
	if p.renew {
		r.startRenewal(o)
	}
	if p.dropToken {
		done.err = errors.Join(done.err, r.tokens().Drop(ctx, o.renewal.secret))
	}
	if state, ok := r.connections.State(o.key); ok {
		done.link = &state
	}
	return done
}

// release lets go of a TenantCluster. What keeps that from succeeding is told, where there is still somebody to
// tell it of.
func (r *reconciler) release(ctx context.Context, o observation, p plan) result {
	if err := errors.Join(r.confirmGone(ctx, o), r.confirmLeft(ctx, o)); err != nil {
		return result{released: true, err: err}
	}
	r.connections.Forget(o.key)
	r.renewals.Forget(o.key)
	err := r.removeFinalizer(ctx, o, p)
	if err == nil || o.cluster == nil || apierrors.IsConflict(err) {
		return result{released: true, err: err}
	}
	return result{cluster: o.cluster.DeepCopy(), releasing: true, err: err}
}

// removeFinalizer removes our own finalizer last.
func (r *reconciler) removeFinalizer(ctx context.Context, o observation, p plan) error {
	if err := heldsecret.Release(ctx, r.client, p.releaseSecrets); err != nil || o.cluster == nil {
		return err
	}
	if err := errors.Join(r.tokens().Drop(ctx, o.renewal.secret), p.handout.Apply(ctx, r.client), r.recordRemaining(ctx, o)); err != nil {
		return err
	}
	cluster := o.cluster.DeepCopy()
	if !controllerutil.RemoveFinalizer(cluster, metav1alpha1.FinalizerCluster) {
		return nil
	}
	return client.IgnoreNotFound(r.client.Patch(ctx, cluster, guardedPatch(o.cluster)))
}

// patchMetadata adds our finalizer and label to the TenantCluster.
func (r *reconciler) patchMetadata(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster, p plan) error {
	before := cluster.DeepCopy()
	changed := p.addFinalizer && controllerutil.AddFinalizer(cluster, metav1alpha1.FinalizerCluster)
	if cluster.Labels[metav1alpha1.LabelClusterID] != p.clusterID {
		changed = true
		setLabel(cluster, metav1alpha1.LabelClusterID, p.clusterID)
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

func (r *reconciler) changeConnection(o observation, change connectionChange) {
	known := r.memory.Of(o.key)
	switch change {
	case connect:
		r.connections.Connect(o.key, o.credentials.access)
		known.linked = o.credentials.access.Fingerprint()
	case swapCredentials:
		r.connections.Renew(o.key, o.credentials.access)
		known.linked = o.credentials.access.Fingerprint()
	case disconnect:
		r.connections.Disconnect(o.key)
		known.linked = ""
	case tryNow:
		r.connections.TryNow(o.key)
	}
	known.handled = requestIn(o.cluster)
}

func (r *reconciler) changeAdmission(key types.NamespacedName, p plan) (claimed bool) {
	switch p.admission {
	case admit:
		return errors.Is(r.connections.Admit(key, p.verdict.identity), fleet.ErrClaimed)
	case withdraw:
		r.connections.Withdraw(key)
	}
	return false
}
