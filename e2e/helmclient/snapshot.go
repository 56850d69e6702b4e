package helmclient

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// listParallel is how many kinds are listed at a time.
const listParallel = 8

// Scope says what a Snapshot is of.
type Scope struct {
	// Namespaces are looked at as a whole. Objects outside of namespaces count if they belong, by Helm's
	// annotations, to a release in one of these.
	Namespaces []string
	// CRDs are the names of definitions that count as well: those in a chart's crds/ belong to no release.
	CRDs []string
}

// View is what there is in a cluster. Keys are <apiVersion>/<kind>/<namespace>/<name>, with an empty
// namespace for objects outside of any.
type View map[string]Object

// Object is one object of a View.
type Object struct {
	// Content is the object as far as two runs can have it in common.
	Content map[string]any
	// Record is what a release's record holds. It is nil for all other objects.
	Record *Record
}

// kind is one that can be listed.
type kind struct {
	schema.GroupVersionResource
	namespaced bool
}

// Snapshot returns everything of a scope but what Kubernetes adds by itself: objects that a controller
// owns, events, leases, endpoints, and what each namespace has. What is being deleted is still there.
func Snapshot(ctx context.Context, config *rest.Config, scope Scope) (View, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1                           // A list for each kind is no burst to be afraid of.
	config.WarningHandler = rest.NoWarnings{} // Kinds that are deprecated are looked at as well.
	kinds, err := listable(config)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	var mu sync.Mutex
	view := View{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listParallel)
	for _, kind := range kinds {
		group.Go(func() error {
			objects, err := scope.list(ctx, client, kind)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			return view.add(objects)
		})
	}
	return view, group.Wait()
}

// list returns what of a kind belongs to the scope.
func (s Scope) list(ctx context.Context, client dynamic.Interface, of kind) ([]unstructured.Unstructured, error) {
	namespaces := s.Namespaces
	if !of.namespaced {
		namespaces = []string{metav1.NamespaceAll}
	}
	var found []unstructured.Unstructured
	for _, namespace := range namespaces {
		list, err := client.Resource(of.GroupVersionResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // Its definition went meanwhile, and with it all that there was.
		}
		if err != nil {
			return nil, fmt.Errorf("list %s in %q: %w", of.GroupResource(), namespace, err)
		}
		found = append(found, list.Items...)
	}
	return slices.DeleteFunc(found, func(object unstructured.Unstructured) bool { return !s.includes(&object) }), nil
}

func (s Scope) includes(object *unstructured.Unstructured) bool {
	if object.GetNamespace() != "" {
		return !addedByKubernetes(object)
	}
	if object.GetKind() == "CustomResourceDefinition" && slices.Contains(s.CRDs, object.GetName()) {
		return true
	}
	namespace, owned := object.GetAnnotations()["meta.helm.sh/release-namespace"]
	return owned && slices.Contains(s.Namespaces, namespace)
}

// addedByKubernetes tells what it makes of what others made, and what it puts into each namespace.
func addedByKubernetes(object *unstructured.Unstructured) bool {
	switch object.GetKind() + "/" + object.GetName() {
	case "ServiceAccount/default", "ConfigMap/kube-root-ca.crt":
		return true
	}
	return metav1.GetControllerOf(object) != nil
}

func (v View) add(objects []unstructured.Unstructured) error {
	for i := range objects {
		id, object, err := normalised(&objects[i])
		if err != nil {
			return err
		}
		v[id] = object
	}
	return nil
}

// transient kinds come and go with what goes on in a cluster.
var transient = []string{"Event", "Lease", "Endpoints", "EndpointSlice"}

// listable are all other kinds, each in the version that the cluster prefers.
func listable(config *rest.Config) ([]kind, error) {
	client, err := clientdiscovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a discovery client: %w", err)
	}
	groups, err := client.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("ask the cluster for its kinds: %w", err)
	}
	var kinds []kind
	for _, group := range groups {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range group.APIResources {
			known := slices.Contains(resource.Verbs, "list") && !strings.Contains(resource.Name, "/")
			if known && !slices.Contains(transient, resource.Kind) {
				kinds = append(kinds, kind{version.WithResource(resource.Name), resource.Namespaced})
			}
		}
	}
	return kinds, nil
}
