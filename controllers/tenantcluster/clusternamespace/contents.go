package clusternamespace

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rootAuthority is a ConfigMap that Kubernetes makes in each namespace.
const rootAuthority = "kube-root-ca.crt"

// keptBy says what keeps a namespace; empty if nothing does. It reads past the cache: a cache that lags would lose Clusters. Cluster
// API removes what belongs to a Cluster before the Cluster itself. Secrets and ConfigMaps that are left are from people or tools, and
// nobody could make them again.
func (r *reconciler) keptBy(ctx context.Context, o observation) (string, error) {
	owner, err := read(ctx, r.live, o.name)
	if err != nil {
		return "", err
	}
	if belongsTo(o.found, owner) {
		if _, remaining, err := orders(ctx, r.live, o.name); err != nil || remaining {
			return "an order", err
		}
	}
	for _, list := range []*metav1.PartialObjectMetadataList{clusterList(), listOf("Secret"), listOf("ConfigMap")} {
		has, err := hasAny(ctx, r.live, list, o.found.Name)
		if meta.IsNoMatchError(err) {
			continue // Cluster API is not installed.
		}
		if err != nil || has {
			return list.Kind, err
		}
	}
	return "", nil
}

func listOf(kind string) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: corev1.SchemeGroupVersion.Version, Kind: kind + "List"})
	return list
}

func hasAny(ctx context.Context, reader client.Reader, list *metav1.PartialObjectMetadataList, namespace string) (bool, error) {
	// Two are enough: one may be what Kubernetes makes.
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.Limit(2)); err != nil {
		return false, fmt.Errorf("list %s of namespace %s: %w", list.Kind, namespace, err)
	}
	for i := range list.Items {
		if list.Items[i].Name != rootAuthority {
			return true, nil
		}
	}
	return false, nil
}
