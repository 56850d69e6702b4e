package policy

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/clusterstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/expectations"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// parallelWrites is how many targets of one policy are written at the same time.
const parallelWrites = 8

// targetWriter writes one policy's targets.
type targetWriter[P Policy, T Target] struct {
	client       client.Client
	apiReader    client.Reader
	clock        clock.PassiveClock
	expectations *expectations.Writes
	views        *views
	kind         Kind[P, T]
	// targetKind is the name of the kind of target, for messages.
	targetKind string

	policy   P
	settings settings
}

func (r *Reconciler[P, T]) newTargetWriter(policy P, settings settings) *targetWriter[P, T] {
	return &targetWriter[P, T]{
		client: r.Client, apiReader: r.APIReader, clock: r.Clock, expectations: &r.expectations, views: &r.views, kind: r.Kind,
		targetKind: kindName(r.Client, r.Kind.NewTarget()), policy: policy, settings: settings,
	}
}

// kindName is the name of an object's kind, "target" if the scheme does not know it.
func kindName(c client.Client, object client.Object) string {
	kind, err := c.GroupVersionKindFor(object)
	if err != nil {
		return "target"
	}
	return kind.Kind
}

// newTarget is the policy in one cluster. Its finalizer is there from the start: nothing is done
// in a cluster that could not be undone.
func newTarget[P Policy, T Target](kind Kind[P, T], policy P, cluster rollout.ClusterKey) T {
	target := kind.NewTarget()
	target.SetNamespace(policy.GetNamespace())
	target.SetName(rollout.TargetName(policy.GetName(), cluster))
	target.SetLabels(map[string]string{
		metav1alpha1.LabelPolicy:           policy.GetName(),
		metav1alpha1.LabelCluster:          cluster.Name,
		metav1alpha1.LabelClusterNamespace: cluster.Namespace,
	})
	target.SetFinalizers([]string{metav1alpha1.FinalizerTarget})
	target.GetTargetSpec().ClusterRef = metav1alpha1.ClusterReference(cluster)
	return target
}

func (w *targetWriter[P, T]) create(ctx context.Context, cluster rollout.Cluster) error {
	target := newTarget(w.kind, w.policy, cluster.ClusterKey)
	parameters, err := w.parametersOf(ctx, cluster)
	if err != nil {
		return err
	}
	w.setAll(target, cluster, parameters)
	err = w.client.Create(ctx, target)
	if apierrors.IsAlreadyExists(err) {
		return w.verify(ctx, target)
	}
	if err != nil {
		return fmt.Errorf("create %s %s: %w", w.targetKind, target.GetName(), err)
	}
	w.expect(target)
	return nil
}

// verify tells a target that the cache did not show yet from something else with its name.
func (w *targetWriter[P, T]) verify(ctx context.Context, want T) error {
	found := w.kind.NewTarget()
	if err := w.apiReader.Get(ctx, client.ObjectKeyFromObject(want), found); err != nil {
		if apierrors.IsNotFound(err) {
			return errOutdated
		}
		return fmt.Errorf("read %s %s: %w", w.targetKind, want.GetName(), err)
	}
	cluster, owner := found.GetTargetSpec().ClusterRef, found.GetLabels()[metav1alpha1.LabelPolicy]
	if cluster != want.GetTargetSpec().ClusterRef || owner != w.policy.GetName() {
		return fmt.Errorf("%s %s/%s is in the way: it is policy %q in TenantCluster %s/%s; delete it",
			w.targetKind, found.GetNamespace(), found.GetName(), owner, cluster.Namespace, cluster.Name)
	}
	w.expect(found)
	return errOutdated
}

func (w *targetWriter[P, T]) update(ctx context.Context, update rollout.TargetUpdate) error {
	parameters, err := w.parametersOf(ctx, update.Cluster)
	if err != nil {
		return err
	}
	return w.patch(ctx, update.Target, func(target T) { w.setAll(target, update.Cluster, parameters) })
}

func (w *targetWriter[P, T]) syncSettings(ctx context.Context, name string) error {
	return w.patch(ctx, name, w.setSettings)
}

// parametersOf are the parameters that the plan was made with.
func (w *targetWriter[P, T]) parametersOf(ctx context.Context, cluster rollout.Cluster) (metav1alpha1.ClusterParameters, error) {
	found := &tenancyv1alpha1.TenantCluster{}
	err := w.client.Get(ctx, client.ObjectKey(cluster.ClusterKey), found, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return metav1alpha1.ClusterParameters{}, errOutdated
	}
	if err != nil {
		return metav1alpha1.ClusterParameters{}, fmt.Errorf("read TenantCluster %s/%s: %w", cluster.Namespace, cluster.Name, err)
	}
	parameters := clusterstate.ParametersOf(found)
	if clusterstate.Comparable(parameters) != cluster.Parameters {
		return parameters, errOutdated
	}
	return parameters, nil
}

// setAll sets everything that a target takes from its policy and its cluster.
func (w *targetWriter[P, T]) setAll(target T, cluster rollout.Cluster, parameters metav1alpha1.ClusterParameters) {
	spec := target.GetTargetSpec()
	spec.Revision = cluster.Revision
	spec.Content = cluster.Content
	spec.Cluster = parameters
	w.setSettings(target)
}

// setSettings sets what a target takes from its policy that is no part of a revision, and when that is.
func (w *targetWriter[P, T]) setSettings(target T) {
	target.GetTargetSpec().WrittenAt = metav1.NewTime(w.clock.Now()).Rfc3339Copy()
	w.settings.setOn(target.GetTargetSpec())
	w.kind.SyncSettings(target, w.policy)
}

// patch writes what changes in a target's spec, unless another client wrote the target meanwhile.
func (w *targetWriter[P, T]) patch(ctx context.Context, name string, change func(T)) error {
	target, err := w.cached(ctx, name)
	if err != nil {
		return err
	}
	base := w.kind.NewTarget()
	base.SetNamespace(target.GetNamespace())
	base.SetName(name)
	base.SetResourceVersion(target.GetResourceVersion())
	w.kind.CopySpec(base, target)
	changed := base.DeepCopyObject().(T)
	change(changed)
	err = w.client.Patch(ctx, changed, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return errOutdated
	}
	if err != nil {
		return fmt.Errorf("patch %s %s: %w", w.targetKind, name, err)
	}
	w.expect(changed)
	return nil
}

func (w *targetWriter[P, T]) delete(ctx context.Context, name string) error {
	target, err := w.cached(ctx, name)
	if err != nil {
		return err
	}
	named := w.kind.NewTarget()
	named.SetNamespace(target.GetNamespace())
	named.SetName(name)
	err = w.client.Delete(ctx, named, client.Preconditions{UID: ptr.To(target.GetUID())})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", w.targetKind, name, err)
	}
	if err == nil {
		w.expectations.RecordDeletion(w.key(), name, w.clock.Now())
	}
	w.views.noteTarget(w.key(), keyOf(target))
	return nil
}

// cached is a target in the cache, which must not be changed.
func (w *targetWriter[P, T]) cached(ctx context.Context, name string) (T, error) {
	target := w.kind.NewTarget()
	err := w.client.Get(ctx, types.NamespacedName{Namespace: w.policy.GetNamespace(), Name: name}, target, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return target, errOutdated
	}
	if err != nil {
		return target, fmt.Errorf("read %s %s: %w", w.targetKind, name, err)
	}
	return target, nil
}

// expect has the cache show a write, and the view have it, before anything is planned again.
func (w *targetWriter[P, T]) expect(target T) {
	w.views.noteTarget(w.key(), keyOf(target))
	w.expectations.Record(w.key(), target.GetName(), target.GetResourceVersion(), w.clock.Now())
}

func (w *targetWriter[P, T]) key() types.NamespacedName { return client.ObjectKeyFromObject(w.policy) }
