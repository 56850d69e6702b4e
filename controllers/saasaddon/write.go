package saasaddon

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// parallelWrites is how many targets of one add-on are written at the same time.
const parallelWrites = 8

// targetWriter writes one add-on's targets.
type targetWriter struct {
	*Reconciler
	addon      *addonsv1alpha1.SaaSAddon
	settings   settings
	parameters map[rollout.ClusterKey]metav1alpha1.ClusterParameters
	targets    map[string]*addonsv1alpha1.AddonRelease
}

func newTargetWriter(r *Reconciler, seen *observed, todo Plan) *targetWriter {
	writer := &targetWriter{
		Reconciler: r,
		addon:      seen.addon,
		settings:   todo.settings,
		parameters: map[rollout.ClusterKey]metav1alpha1.ClusterParameters{},
		targets:    map[string]*addonsv1alpha1.AddonRelease{},
	}
	for i := range seen.clusters {
		cluster := &seen.clusters[i]
		writer.parameters[rollout.ClusterKey{Namespace: cluster.Namespace, Name: cluster.Name}] = parametersOf(cluster)
	}
	for i := range seen.targets {
		writer.targets[seen.targets[i].Name] = &seen.targets[i]
	}
	return writer
}

func (w *targetWriter) create(ctx context.Context, cluster rollout.Cluster) error {
	target := newTarget(w.addon, cluster.ClusterKey)
	w.follow(&target.Spec, cluster)
	err := w.Client.Create(ctx, target)
	if apierrors.IsAlreadyExists(err) {
		return w.verify(ctx, target)
	}
	if err != nil {
		return fmt.Errorf("create AddonRelease %s: %w", target.Name, err)
	}
	w.remember(target)
	return nil
}

// verify tells a target that the cache did not show yet from something else with its name.
func (w *targetWriter) verify(ctx context.Context, want *addonsv1alpha1.AddonRelease) error {
	found := &addonsv1alpha1.AddonRelease{}
	if err := w.Live.Get(ctx, client.ObjectKeyFromObject(want), found); err != nil {
		if apierrors.IsNotFound(err) {
			return errOutdated
		}
		return fmt.Errorf("read AddonRelease %s: %w", want.Name, err)
	}
	if found.Spec.ClusterRef != want.Spec.ClusterRef || found.Labels[metav1alpha1.LabelPolicy] != w.addon.Name {
		return fmt.Errorf("AddonRelease %s/%s is in the way: it is add-on %q in TenantCluster %s/%s; delete it",
			found.Namespace, found.Name, found.Labels[metav1alpha1.LabelPolicy], found.Spec.ClusterRef.Namespace, found.Spec.ClusterRef.Name)
	}
	w.remember(found)
	return errOutdated
}

func (w *targetWriter) update(ctx context.Context, update rollout.TargetUpdate) error {
	return w.patch(ctx, update.Target, func(spec *addonsv1alpha1.AddonReleaseSpec) { w.follow(spec, update.Cluster) })
}

func (w *targetWriter) syncSettings(ctx context.Context, name string) error {
	return w.patch(ctx, name, w.settings.setOn)
}

// follow sets everything that a target takes from its policy and its cluster.
func (w *targetWriter) follow(spec *addonsv1alpha1.AddonReleaseSpec, cluster rollout.Cluster) {
	spec.Revision = cluster.Revision
	spec.Cluster = w.parameters[cluster.ClusterKey]
	w.settings.setOn(spec)
}

// patch writes what changes in a target's spec, unless somebody else wrote the target meanwhile.
func (w *targetWriter) patch(ctx context.Context, name string, change func(*addonsv1alpha1.AddonReleaseSpec)) error {
	target := w.targets[name]
	base := &addonsv1alpha1.AddonRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: name, ResourceVersion: target.ResourceVersion},
		Spec:       *target.Spec.DeepCopy(),
	}
	changed := base.DeepCopy()
	change(&changed.Spec)
	err := w.Client.Patch(ctx, changed, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return errOutdated
	}
	if err != nil {
		return fmt.Errorf("patch AddonRelease %s: %w", name, err)
	}
	w.remember(changed)
	return nil
}

func (w *targetWriter) delete(ctx context.Context, name string) error {
	target := w.targets[name]
	err := w.Client.Delete(ctx, &addonsv1alpha1.AddonRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: name},
	}, client.Preconditions{UID: ptr.To(target.UID)})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete AddonRelease %s: %w", name, err)
	}
	if err == nil {
		w.writes.recordDeletion(client.ObjectKeyFromObject(w.addon), name, w.Clock.Now())
	}
	return nil
}

func (w *targetWriter) remember(target *addonsv1alpha1.AddonRelease) {
	w.writes.record(client.ObjectKeyFromObject(w.addon), target.Name, target.ResourceVersion, w.Clock.Now())
}

// inParallel calls work for every item, some at a time, and returns each one's error.
func inParallel[T any](items []T, work func(T) error) []error {
	errs := make([]error, len(items))
	group := errgroup.Group{}
	group.SetLimit(parallelWrites)
	for i, item := range items {
		group.Go(func() error {
			errs[i] = work(item)
			return nil
		})
	}
	_ = group.Wait()
	return errs
}
