package saasaddon

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
)

// observed is everything that the other steps know.
type observed struct {
	addon *addonsv1alpha1.SaaSAddon
	now   time.Time
	// cacheBehind: the targets do not show this process's own writes yet; nothing may be concluded.
	cacheBehind bool

	// clusters that the add-on selects; where its selectors are refused, those that have a target.
	// They and the targets belong to the cache and must not be changed.
	clusters []tenancyv1alpha1.TenantCluster
	targets  []addonsv1alpha1.AddonRelease
	// missing are names in spec.clusterNames that no TenantCluster has.
	missing []string
	// abandoned are targets that were let go, gone ones among them.
	abandoned []abandonment

	// snapshot of the current content; nil where it could not be read.
	snapshot *revision.Snapshot
	// stored revisions.
	stored []revision.Stored
	// chart that the content is made of, if it is one; nil while that is not known.
	chart *addonsv1alpha1.ResolvedChart
	// archive of the chart, if it was fetched just now.
	archive []byte
	// problem with the selectors or the content that a person has to mend; nil if there is none.
	problem *problem
}

// observe reads everything once. Returns nil if the add-on is gone.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*observed, error) {
	addon := &addonsv1alpha1.SaaSAddon{}
	if err := r.Client.Get(ctx, key, addon); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	seen := &observed{addon: addon, now: r.Clock.Now()}

	var err error
	if seen.targets, err = r.listTargets(ctx, addon); err != nil {
		return nil, err
	}
	if seen.cacheBehind = r.writes.ahead(key, seen.targets, seen.now); seen.cacheBehind {
		return seen, nil
	}
	seen.abandoned = r.abandoned.with(key, seen.targets)
	if seen.stored, err = revision.List(ctx, r.Client, owner(addon)); err != nil {
		return nil, err
	}
	if !addon.DeletionTimestamp.IsZero() {
		return seen, nil
	}
	if err := r.observeClusters(ctx, seen); err != nil {
		return nil, err
	}
	if err := r.observeChart(ctx, seen); err != nil {
		return nil, err
	}
	if addon.Spec.Source.Chart != nil && seen.chart == nil {
		return seen, nil
	}
	return seen, r.observeContent(ctx, seen)
}

func (r *Reconciler) listTargets(ctx context.Context, addon *addonsv1alpha1.SaaSAddon) ([]addonsv1alpha1.AddonRelease, error) {
	targets := &addonsv1alpha1.AddonReleaseList{}
	err := r.Client.List(ctx, targets, client.InNamespace(addon.Namespace),
		client.MatchingLabels{metav1alpha1.LabelPolicy: addon.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list targets: %w", err)
	}
	return targets.Items, nil
}

func (r *Reconciler) observeClusters(ctx context.Context, seen *observed) error {
	chosen, refused := selectionOf(seen.addon, r.ProviderNamespace)
	if refused != nil {
		seen.problem = refused
		return r.observeClustersOfTargets(ctx, seen)
	}
	namespaces, err := r.clusterNamespaces(ctx, seen.addon.Namespace, chosen.namespaces)
	if err != nil {
		return err
	}
	missing := sets.New(chosen.names...)
	for _, namespace := range namespaces {
		clusters := &tenancyv1alpha1.TenantClusterList{}
		if err := r.Client.List(ctx, clusters, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list TenantClusters: %w", err)
		}
		for _, cluster := range clusters.Items {
			named := namespace == seen.addon.Namespace && missing.Has(cluster.Name)
			if named || chosen.clusters.Matches(labels.Set(cluster.Labels)) {
				seen.clusters = append(seen.clusters, cluster)
			}
			missing.Delete(cluster.Name)
		}
	}
	seen.missing = sets.List(missing)
	return nil
}

// clusterNamespaces are the add-on's own namespace and those with the labels.
func (r *Reconciler) clusterNamespaces(ctx context.Context, own string, others labels.Selector) ([]string, error) {
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
func (r *Reconciler) observeClustersOfTargets(ctx context.Context, seen *observed) error {
	for _, target := range seen.targets {
		cluster := tenancyv1alpha1.TenantCluster{}
		err := r.Client.Get(ctx, client.ObjectKey(target.Spec.ClusterRef), &cluster)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read TenantCluster: %w", err)
		}
		seen.clusters = append(seen.clusters, cluster)
	}
	return nil
}
