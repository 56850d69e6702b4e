package certificatebundle

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/rotation"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/clusterstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/selection"
)

// participants are the clusters that a bundle selects, and those that it has a delivery in, as the reader shows them.
func (r *Reconciler) participants(ctx context.Context, reader client.Reader, bundle *certificatesv1alpha1.CertificateBundle) ([]rotation.Cluster, error) {
	found := map[rollout.ClusterKey]*rotation.Cluster{}
	if err := r.findSelected(ctx, reader, bundle, found); err != nil {
		return nil, err
	}
	list := &certificatesv1alpha1.CertificateDeliveryList{}
	err := reader.List(ctx, list, client.InNamespace(bundle.Namespace), client.MatchingLabels{metav1alpha1.LabelPolicy: bundle.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the deliveries of %s/%s: %w", bundle.Namespace, bundle.Name, err)
	}
	for i := range list.Items {
		if err := r.addDelivery(ctx, reader, &list.Items[i], found); err != nil {
			return nil, err
		}
	}
	return inOrder(found), nil
}

// inOrder are clusters in the order of their keys.
func inOrder(found map[rollout.ClusterKey]*rotation.Cluster) []rotation.Cluster {
	clusters := make([]rotation.Cluster, 0, len(found))
	for _, key := range slices.SortedFunc(maps.Keys(found), rollout.ClusterKey.Compare) {
		clusters = append(clusters, *found[key])
	}
	return clusters
}

// findSelected looks for the clusters that a bundle selects: in all namespaces if it is the provider's, and may.
func (r *Reconciler) findSelected(ctx context.Context, reader client.Reader, bundle *certificatesv1alpha1.CertificateBundle, found map[rollout.ClusterKey]*rotation.Cluster) error {
	var in []client.ListOption
	namespaces := map[string]labels.Set{}
	if bundle.Spec.ClusterNamespaceSelector == nil || bundle.Namespace != r.ProviderNamespace {
		in = append(in, client.InNamespace(bundle.Namespace))
	} else {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
		if err := reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list namespaces: %w", err)
		}
		for i := range list.Items {
			namespaces[list.Items[i].Name] = list.Items[i].Labels
		}
	}
	clusters := &tenancyv1alpha1.TenantClusterList{}
	if err := reader.List(ctx, clusters, append(in, client.UnsafeDisableDeepCopy)...); err != nil {
		return fmt.Errorf("list TenantClusters: %w", err)
	}
	for i := range clusters.Items {
		if one := &clusters.Items[i]; selection.Selects(bundle, one, namespaces[one.Namespace]) {
			joining := clusterOf(one)
			joining.Selected = true
			found[joining.ClusterKey] = &joining
		}
	}
	return nil
}

// addDelivery adds what a bundle has in a cluster, and the cluster if it is not selected.
func (r *Reconciler) addDelivery(
	ctx context.Context, reader client.Reader, delivery *certificatesv1alpha1.CertificateDelivery, found map[rollout.ClusterKey]*rotation.Cluster,
) error {
	key := rollout.ClusterKey(delivery.Spec.ClusterRef)
	if found[key] == nil {
		tenant := &tenancyv1alpha1.TenantCluster{}
		err := reader.Get(ctx, client.ObjectKey(key), tenant)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read TenantCluster %s/%s: %w", key.Namespace, key.Name, err)
		}
		found[key] = &rotation.Cluster{ClusterKey: key}
		if err == nil {
			*found[key] = clusterOf(tenant)
		}
	}
	found[key].Leaving = found[key].Leaving || !delivery.DeletionTimestamp.IsZero()
	found[key].Target = targetOf(delivery)
	return nil
}

// clusterOf is what a TenantCluster tells.
func clusterOf(tenant *tenancyv1alpha1.TenantCluster) rotation.Cluster {
	return rotation.Cluster{
		ClusterKey: rollout.ClusterKey{Namespace: tenant.Namespace, Name: tenant.Name}, ID: tenant.Status.ClusterID,
		Reachable: clusterstate.IsConnected(tenant), Leaving: !tenant.DeletionTimestamp.IsZero(),
	}
}

// targetOf is what a delivery was told, and what it acknowledged.
func targetOf(delivery *certificatesv1alpha1.CertificateDelivery) *rotation.Target {
	target := &rotation.Target{Generation: delivery.Generation}
	if told := delivery.Spec.Authority; told != nil {
		target.Told = rotation.Told{Trust: told.Generations, AnchorHash: told.AnchorHash}
	}
	target.Told.Issuer = certificatecontent.GenerationOf(delivery.Spec.Content)
	if acknowledged := delivery.Status.Authority; acknowledged != nil {
		target.Acknowledged = *acknowledged
	}
	return target
}
