package policy

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
)

// observation is everything that the other steps know.
type observation[P Policy, T Target] struct {
	policy P
	now    time.Time
	// cacheBehind: the targets do not show this process's own writes yet; nothing may be concluded.
	cacheBehind bool

	// clusters that the policy selects; where its selectors are refused, those that have a target.
	// They and the targets belong to the cache and must not be changed.
	clusters []cluster
	targets  []observedTarget[T]
	// missing are names in spec.clusterNames that no TenantCluster has.
	missing []string
	// abandoned are targets that are gone and left something behind.
	abandoned []abandonment

	// content as it is now.
	content Content[P]
	// snapshot of the content; nil where it is not usable.
	snapshot *revision.Snapshot
	// stored revisions.
	stored []revision.Stored
	// stall with the selectors or the content; nil if there is none.
	stall *Stall
}

// cluster is a TenantCluster, and what of it costs something to find out.
type cluster struct {
	*tenancyv1alpha1.TenantCluster
	derived derivedCluster
}

// observedTarget is a target, and its parameters in a form that can be compared.
type observedTarget[T Target] struct {
	object     T
	parameters string
}

// refuse keeps the first stall, unless a worse one comes.
func (o *observation[P, T]) refuse(stall *Stall) {
	if o.stall == nil || o.stall.Usable && stall != nil {
		o.stall = stall
	}
}

// objects are the targets themselves.
func (o *observation[P, T]) objects() []T {
	objects := make([]T, len(o.targets))
	for i := range o.targets {
		objects[i] = o.targets[i].object
	}
	return objects
}

// observe reads everything once. Returns nil if the policy is gone.
func (r *Reconciler[P, T]) observe(ctx context.Context, key types.NamespacedName) (*observation[P, T], error) {
	policy := r.Kind.NewPolicy()
	if err := r.Client.Get(ctx, key, policy); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	seen := &observation[P, T]{policy: policy, now: r.Clock.Now()}
	if err := r.observeTargets(ctx, seen, client.MatchingFields{indexPolicy: policy.GetName()}); err != nil {
		return nil, err
	}
	targets := seen.objects()
	if seen.cacheBehind = r.expectations.unmet(key, targets, seen.now); seen.cacheBehind {
		return seen, nil
	}
	seen.abandoned = r.abandoned.with(key, targets, r.Kind.Objects)
	owner, err := r.owner(policy)
	if err != nil {
		return nil, err
	}
	if seen.stored, err = revision.List(ctx, r.Client, owner); err != nil {
		return nil, err
	}
	if !policy.GetDeletionTimestamp().IsZero() {
		return seen, nil
	}
	if err := r.observeClusters(ctx, seen); err != nil {
		return nil, err
	}
	return seen, r.observeContent(ctx, seen)
}

// observeTargets lists the targets of a policy, which the option tells from those of others.
func (r *Reconciler[P, T]) observeTargets(ctx context.Context, seen *observation[P, T], ofPolicy client.ListOption) error {
	list, err := r.newList(r.Kind.NewTarget())
	if err != nil {
		return err
	}
	if err := r.Client.List(ctx, list, client.InNamespace(seen.policy.GetNamespace()), ofPolicy, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list targets: %w", err)
	}
	seen.targets = make([]observedTarget[T], 0, meta.LenList(list))
	return meta.EachListItem(list, func(item runtime.Object) error {
		target := item.(T)
		seen.targets = append(seen.targets, observedTarget[T]{object: target, parameters: r.parameters.ofTarget(target)})
		return nil
	})
}

// newList is an empty list of objects of a kind.
func (r *Reconciler[P, T]) newList(item client.Object) (client.ObjectList, error) {
	kind, err := r.Client.GroupVersionKindFor(item)
	if err != nil {
		return nil, err
	}
	kind.Kind += "List"
	list, err := r.Client.Scheme().New(kind)
	if err != nil {
		return nil, err
	}
	return list.(client.ObjectList), nil
}

func (r *Reconciler[P, T]) observeClusters(ctx context.Context, seen *observation[P, T]) error {
	chosen, refused := selectionOf(seen.policy, r.ProviderNamespace)
	if refused != nil {
		seen.stall = refused
		return r.observeClustersOfTargets(ctx, seen)
	}
	namespaces, err := r.clusterNamespaces(ctx, seen.policy.GetNamespace(), chosen.namespaces)
	if err != nil {
		return err
	}
	missing := sets.New(chosen.names...)
	for _, namespace := range namespaces {
		clusters := &tenancyv1alpha1.TenantClusterList{}
		if err := r.Client.List(ctx, clusters, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list TenantClusters: %w", err)
		}
		for i := range clusters.Items {
			found := &clusters.Items[i]
			named := namespace == seen.policy.GetNamespace() && missing.Has(found.Name)
			if named || chosen.clusters.Matches(labels.Set(found.Labels)) {
				seen.clusters = append(seen.clusters, cluster{found, r.parameters.ofCluster(found)})
			}
			missing.Delete(found.Name)
		}
	}
	seen.missing = sets.List(missing)
	return nil
}

// clusterNamespaces are the policy's own namespace and those with the labels.
func (r *Reconciler[P, T]) clusterNamespaces(ctx context.Context, own string, others labels.Selector) ([]string, error) {
	if others == nil {
		return []string{own}, nil
	}
	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := r.Client.List(ctx, found, client.MatchingLabelsSelector{Selector: others}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	namespaces := sets.New(own)
	for _, namespace := range found.Items {
		namespaces.Insert(namespace.Name)
	}
	return sets.List(namespaces), nil
}

// observeClustersOfTargets stands in for a selection that was refused: what runs goes on.
func (r *Reconciler[P, T]) observeClustersOfTargets(ctx context.Context, seen *observation[P, T]) error {
	for _, target := range seen.targets {
		found := &tenancyv1alpha1.TenantCluster{}
		err := r.Client.Get(ctx, client.ObjectKey(target.object.GetTargetSpec().ClusterRef), found)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read TenantCluster: %w", err)
		}
		seen.clusters = append(seen.clusters, cluster{found, r.parameters.ofCluster(found)})
	}
	return nil
}

func policyLabel(policy client.Object) client.MatchingLabels {
	return client.MatchingLabels{metav1alpha1.LabelPolicy: policy.GetName()}
}
