package fleet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// maxListed is how many objects a read of several returns at most.
const maxListed = 500

// List reads the metadata of the objects of a kind that a label selector selects in a namespace, at
// most 500.
func (c *Cluster) List(ctx context.Context, kind schema.GroupVersionKind, namespace, selector string) ([]metav1.PartialObjectMetadata, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	resource, err := c.Resource(ctx, kind)
	if err != nil {
		return nil, err
	}
	list, err := c.metadata.Resource(resource.GroupVersionResource).Namespace(namespace).
		List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: maxListed})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	return list.Items, nil
}

// Secrets is a client for the Secrets of a namespace, for those who keep records in them. Its requests
// end with their context, and at the latest after the timeout of a request.
func (c *Cluster) Secrets(namespace string) (corev1client.SecretInterface, error) {
	client, err := corev1client.NewForConfigAndClient(c.config, c.bounded)
	if err != nil {
		return nil, fmt.Errorf("client for Secrets: %w", err)
	}
	return client.Secrets(namespace), nil
}

// Pods reads the pods that a label selector selects in a namespace, at most 500.
func (c *Cluster) Pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	list, err := c.dynamic.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(namespace).
		List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: maxListed})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	pods := make([]corev1.Pod, len(list.Items))
	for i := range list.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &pods[i]); err != nil {
			return nil, fmt.Errorf("read pod %s: %w", list.Items[i].GetName(), err)
		}
	}
	return pods, nil
}

// Lookup reads one whole object, or the list of all of a kind if the name is empty; of all namespaces
// if that is empty too. It may read what the cluster's kubeconfig may.
func (c *Cluster) Lookup(ctx context.Context, ref objects.Ref) (map[string]any, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	resource, err := c.Resource(ctx, ref.GroupVersionKind)
	if err != nil {
		return nil, err
	}
	var client dynamic.ResourceInterface = c.dynamic.Resource(resource.GroupVersionResource)
	if resource.Namespaced {
		client = c.dynamic.Resource(resource.GroupVersionResource).Namespace(ref.Namespace)
	}
	if ref.Name != "" {
		object, err := client.Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return object.Object, nil
	}
	list, err := client.List(ctx, metav1.ListOptions{Limit: maxListed})
	if err != nil {
		return nil, err
	}
	return (&unstructured.UnstructuredList{Object: list.Object, Items: list.Items}).UnstructuredContent(), nil
}

// APIVersions returns what the cluster serves, as in "apps/v1" and "apps/v1/Deployment". What an
// aggregated API server that does not answer would serve is left out.
func (c *Cluster) APIVersions() ([]string, error) {
	_, lists, err := c.ask.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("discover what the cluster serves: %w", err)
	}
	var versions []string
	for _, list := range lists {
		versions = append(versions, list.GroupVersion)
		for _, resource := range list.APIResources {
			versions = append(versions, list.GroupVersion+"/"+resource.Kind)
		}
	}
	return versions, nil
}
