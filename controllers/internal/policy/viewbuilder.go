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
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// viewBuilder reads what a view is made of.
type viewBuilder[P Policy, T Target] struct {
	reader   client.Client
	kind     Kind[P, T]
	provider string

	policy P
	now    time.Time
}

func (r *Reconciler[P, T]) builder(policy P, now time.Time) viewBuilder[P, T] {
	return viewBuilder[P, T]{reader: r.Client, kind: r.Kind, provider: r.ProviderNamespace, policy: policy, now: now}
}

// build lists everything once. The option tells the targets of the policy from those of others.
func (b viewBuilder[P, T]) build(ctx context.Context, basis basis, ofPolicy client.ListOption) (*view, error) {
	view := newView(basis)
	targets, err := b.listTargets(ctx, ofPolicy)
	if err != nil {
		return nil, err
	}
	for _, target := range targets {
		found := targetOf(b.kind, b.policy, basis.settings, target)
		view.targets = append(view.targets, found)
		view.keepApplied(keyOf(target), found.Revision, target.GetTargetStatus().Revision)
	}
	view.sort()
	if basis.deleting {
		view.scope = &scope{selection: selection{clusters: labels.Nothing()}}
		return view, nil
	}
	if view.scope, view.refused, err = b.findScope(ctx); err != nil {
		return nil, err
	}
	if err := b.addClusters(ctx, view); err != nil {
		return nil, err
	}
	view.sort()
	view.findMissing()
	return view, nil
}

func (b viewBuilder[P, T]) listTargets(ctx context.Context, ofPolicy client.ListOption) ([]T, error) {
	list, err := newList(b.reader, b.kind.NewTarget())
	if err != nil {
		return nil, err
	}
	if err := b.reader.List(ctx, list, client.InNamespace(b.policy.GetNamespace()), ofPolicy, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list targets: %w", err)
	}
	targets := make([]T, 0, meta.LenList(list))
	return targets, meta.EachListItem(list, func(item runtime.Object) error {
		targets = append(targets, item.(T))
		return nil
	})
}

// newList is an empty list of objects of a kind.
func newList(c client.Client, item client.Object) (client.ObjectList, error) {
	kind, err := c.GroupVersionKindFor(item)
	if err != nil {
		return nil, err
	}
	kind.Kind += "List"
	list, err := c.Scheme().New(kind)
	if err != nil {
		return nil, err
	}
	return list.(client.ObjectList), nil
}

// findScope reads the selectors. Where they are refused, it tells why.
func (b viewBuilder[P, T]) findScope(ctx context.Context) (*scope, *Stall, error) {
	chosen, refused := selectionOf(b.policy, b.provider)
	found := &scope{selection: chosen, own: b.policy.GetNamespace(), named: sets.New(chosen.names...), refused: refused != nil}
	if refused != nil {
		return found, refused, nil
	}
	kind, err := b.reader.GroupVersionKindFor(b.policy)
	if err != nil {
		return nil, nil, err
	}
	found.policy = kind.Kind + "/" + b.policy.GetName()
	found.searched, err = b.searchedNamespaces(ctx, found.own, chosen.namespaces)
	return found, nil, err
}

// searchedNamespaces are the policy's own namespace and those with the labels.
func (b viewBuilder[P, T]) searchedNamespaces(ctx context.Context, own string, others labels.Selector) (sets.Set[string], error) {
	namespaces := sets.New(own)
	if others == nil {
		return namespaces, nil
	}
	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := b.reader.List(ctx, found, client.MatchingLabelsSelector{Selector: others}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	for _, namespace := range found.Items {
		namespaces.Insert(namespace.Name)
	}
	return namespaces, nil
}

func (b viewBuilder[P, T]) addClusters(ctx context.Context, view *view) error {
	if view.scope.refused {
		return b.addClustersOfTargets(ctx, view)
	}
	for namespace := range view.scope.searched {
		clusters := &tenancyv1alpha1.TenantClusterList{}
		if err := b.reader.List(ctx, clusters, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list TenantClusters: %w", err)
		}
		for i := range clusters.Items {
			if found := &clusters.Items[i]; view.scope.selects(found) {
				wanted, err := b.wantedIn(ctx, view, found)
				if err != nil {
					return err
				}
				view.keep(wanted)
				view.clusters = append(view.clusters, wanted.Cluster)
			}
		}
	}
	return nil
}

// addClustersOfTargets stands in for a selection that was refused: what runs goes on.
func (b viewBuilder[P, T]) addClustersOfTargets(ctx context.Context, view *view) error {
	view.scope.held = sets.New[rollout.ClusterKey]()
	for i := range view.targets {
		view.scope.held.Insert(view.targets[i].Cluster)
		if err := b.refreshCluster(ctx, view, view.targets[i].Cluster); err != nil {
			return err
		}
	}
	return nil
}

// refresh reads again what events named, and the clusters where time changes something.
func (b viewBuilder[P, T]) refresh(ctx context.Context, view *view, changed changes) error {
	for key := range changed.targets {
		if err := b.refreshTarget(ctx, view, key); err != nil {
			return err
		}
		if _, paired := b.kind.(PairedKind[P, T]); paired || view.refused != nil {
			changed.clusters = inserted(changed.clusters, key.cluster)
		}
	}
	if view.basis.deleting {
		return nil
	}
	before := len(view.clusters)
	for key := range changed.clusters {
		if err := b.refreshCluster(ctx, view, key); err != nil {
			return err
		}
	}
	if len(changed.clusters) > 0 && (len(view.clusters) != before || len(view.missing) > 0 || len(view.scope.names) > 0) {
		view.findMissing()
	}
	for _, key := range view.due(b.now) {
		if err := b.refreshCluster(ctx, view, key); err != nil {
			return err
		}
	}
	return nil
}

func (b viewBuilder[P, T]) refreshTarget(ctx context.Context, view *view, key targetKey) error {
	target := b.kind.NewTarget()
	err := b.reader.Get(ctx, types.NamespacedName{Namespace: b.policy.GetNamespace(), Name: key.name}, target, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read target %s: %w", key.name, err)
	}
	if err != nil || !b.isOfPolicy(target, key.cluster) {
		view.removeTarget(key)
		return nil
	}
	view.setTarget(targetOf(b.kind, b.policy, view.basis.settings, target), target.GetTargetStatus().Revision)
	return nil
}

func (b viewBuilder[P, T]) refreshCluster(ctx context.Context, view *view, key rollout.ClusterKey) error {
	found := &tenancyv1alpha1.TenantCluster{}
	err := b.reader.Get(ctx, client.ObjectKey(key), found, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read TenantCluster: %w", err)
	}
	if apierrors.IsNotFound(err) || !view.scope.selects(found) || view.refused != nil && !view.hasTargetIn(key) {
		view.removeCluster(key)
		return nil
	}
	wanted, err := b.wantedIn(ctx, view, found)
	if err == nil {
		view.setCluster(wanted)
	}
	return err
}

// wantedIn is what the policy wants in a cluster, with what its kind adds.
func (b viewBuilder[P, T]) wantedIn(ctx context.Context, view *view, found *tenancyv1alpha1.TenantCluster) (wantedCluster, error) {
	wanted := wantedIn(b.policy, found, view.revision, b.now)
	paired, ok := b.kind.(PairedKind[P, T])
	if !ok {
		return wanted, nil
	}
	key := wanted.ClusterKey
	target, err := b.targetIn(ctx, key)
	if err != nil {
		return wanted, err
	}
	pair, err := paired.Pair(ctx, b.policy, found, target, b.now)
	if err != nil {
		return wanted, fmt.Errorf("find out what TenantCluster %s/%s should have: %w", key.Namespace, key.Name, err)
	}
	return wanted.with(pair, b.now), nil
}

// targetIn is the policy's target in a cluster; the zero value if there is none.
func (b viewBuilder[P, T]) targetIn(ctx context.Context, cluster rollout.ClusterKey) (T, error) {
	var none T
	target := b.kind.NewTarget()
	name := types.NamespacedName{Namespace: b.policy.GetNamespace(), Name: rollout.TargetName(b.policy.GetName(), cluster)}
	err := b.reader.Get(ctx, name, target, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return none, nil
	case err != nil:
		return none, fmt.Errorf("read target %s: %w", name.Name, err)
	case !b.isOfPolicy(target, cluster):
		return none, nil
	}
	return target, nil
}

// isOfPolicy is whether a target is the policy's in a cluster: people may have changed its labels.
func (b viewBuilder[P, T]) isOfPolicy(target T, cluster rollout.ClusterKey) bool {
	return keyOf(target).cluster == cluster && target.GetLabels()[metav1alpha1.LabelPolicy] == b.policy.GetName()
}

func policyLabel(policy client.Object) client.MatchingLabels {
	return client.MatchingLabels{metav1alpha1.LabelPolicy: policy.GetName()}
}
