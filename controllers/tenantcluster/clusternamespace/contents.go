package clusternamespace

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
)

// rootAuthority is a ConfigMap that Kubernetes makes in each namespace. The manager may have made a RoleBinding of its own.
const rootAuthority = "kube-root-ca.crt"

// keeping are the kinds that keep a namespace beside Clusters: what people put there, and what a provider bounds it with.
var keeping = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Secret"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	corev1.SchemeGroupVersion.WithKind("ResourceQuota"),
	corev1.SchemeGroupVersion.WithKind("LimitRange"),
	networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
}

// keptBy says what keeps a namespace; empty if nothing does. It reads past the cache: a cache that lags would lose Clusters. Cluster
// API removes what belongs to a Cluster before the Cluster itself. What is left is from people or tools, and Daytwo cannot make it again.
// A quota would be gone when its customer orders again: deleting every order would be the way around it.
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
	lists := []*metav1.PartialObjectMetadataList{clusterList()}
	for _, kind := range keeping {
		lists = append(lists, listOf(kind))
	}
	for _, list := range lists {
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

func listOf(kind schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	return list
}

func hasAny(ctx context.Context, reader client.Reader, list *metav1.PartialObjectMetadataList, namespace string) (bool, error) {
	// Two are enough: one may be what Kubernetes or the manager makes.
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.Limit(2)); err != nil {
		return false, fmt.Errorf("list %s of namespace %s: %w", list.Kind, namespace, err)
	}
	for i := range list.Items {
		if !slices.Contains([]string{rootAuthority, secretaccess.Role}, list.Items[i].Name) {
			return true, nil
		}
	}
	return false, nil
}
