package fleet

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/resources"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

var podResource = resources.Resource{
	GroupVersionResource: corev1.SchemeGroupVersion.WithResource("pods"), Kind: "Pod", Namespaced: true, HasStatus: true,
}

// reader of the collection of a kind, in one namespace or in all.
func (c *Cluster) reader(resource resources.Resource, namespace string) bounded.Reader {
	return bounded.Reader{
		Client: c.raw, Resource: resource, Path: resource.Path(namespace),
		Decoding: &c.decoding, EventTime: c.connection.fleet.options.Timeouts.Request, Large: c.connection.pace.Large,
	}
}

// List reads the metadata of the objects of a kind that a label selector selects in a namespace, at
// most 500.
func (c *Cluster) List(ctx context.Context, kind schema.GroupVersionKind, namespace, selector string) ([]metav1.PartialObjectMetadata, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	resource, err := c.Resource(ctx, kind)
	if err != nil {
		return nil, err
	}
	items := []metav1.PartialObjectMetadata{}
	_, err = c.reader(resource, namespace).Collect(ctx, selector, func(object runtime.Object) error {
		items = append(items, *object.(*metav1.PartialObjectMetadata))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	return items, nil
}

// pageOfEach is how many objects Each reads with one request.
const pageOfEach = 100

// Each reads whole the objects of a kind that a label selector selects, in a namespace or in all if that is empty, and hands
// them on one by one. It is an error if there are more than the limit. Each page has the timeout of a request.
func (c *Cluster) Each(ctx context.Context, kind schema.GroupVersionKind, namespace, selector string, limit int, take func(*unstructured.Unstructured) error) error {
	resource, err := c.Resource(ctx, kind)
	if err != nil {
		return err
	}
	reader, count := c.reader(resource, namespace), 0
	reader.Whole = true
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageOfEach}
	for {
		before := count
		page, err := c.pageOf(ctx, reader, options, func(object runtime.Object) error {
			if count++; count > limit {
				return fmt.Errorf("the cluster has more than %d", limit)
			}
			return take(object.(*bounded.WholeObject).Content)
		})
		if err == nil && page.Continue != "" && count == before {
			err = errors.New("the cluster sends a page without objects, and says that there are more")
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		if page.Continue == "" {
			return nil
		}
		options.Continue = page.Continue
	}
}

func (c *Cluster) pageOf(ctx context.Context, reader bounded.Reader, options metav1.ListOptions, take func(runtime.Object) error) (bounded.Page, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	return reader.List(ctx, options, take)
}

// Secrets is a client for the Secrets of a namespace, for those who keep records in them. Its requests
// end with their context, and at the latest after the timeout of a request.
func (c *Cluster) Secrets(namespace string) (corev1client.SecretInterface, error) {
	client, err := corev1client.NewForConfigAndClient(c.config, c.requests)
	if err != nil {
		return nil, fmt.Errorf("client for Secrets: %w", err)
	}
	return client.Secrets(namespace), nil
}

// Pods reads the pods that a label selector selects in a namespace, at most 500.
func (c *Cluster) Pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	reader := c.reader(podResource, namespace)
	reader.Whole = true
	pods := []corev1.Pod{}
	_, err := reader.Collect(ctx, selector, func(object runtime.Object) error {
		pods = append(pods, corev1.Pod{})
		return runtime.DefaultUnstructuredConverter.FromUnstructured(object.(*unstructured.Unstructured).Object, &pods[len(pods)-1])
	})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
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
	return c.lookupAll(ctx, resource, ref.Namespace)
}

func (c *Cluster) lookupAll(ctx context.Context, resource resources.Resource, namespace string) (map[string]any, error) {
	reader := c.reader(resource, namespace)
	reader.Whole = true
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	page, err := reader.Collect(ctx, "", func(object runtime.Object) error {
		list.Items = append(list.Items, *object.(*unstructured.Unstructured))
		return nil
	})
	if err != nil {
		return nil, err
	}
	list.SetAPIVersion(resource.GroupVersion().String())
	list.SetKind(resource.Kind + "List")
	list.SetResourceVersion(page.ResourceVersion)
	list.SetContinue(page.Continue)
	return list.UnstructuredContent(), nil
}

// APIVersions returns what the cluster serves, as in "apps/v1" and "apps/v1/Deployment". What an
// aggregated API server that does not answer would serve is left out.
func (c *Cluster) APIVersions() ([]string, error) {
	_, lists, err := c.discovery.ServerGroupsAndResources()
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
