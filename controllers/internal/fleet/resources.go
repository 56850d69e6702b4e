package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
)

// Resource is how a kind is served.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	// HasStatus: the kind has a status subresource, so its health is more than its existence.
	HasStatus bool
}

func (r Resource) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.Group, Kind: r.Kind}
}

// catalog knows how kinds are served. Those that come with Kubernetes are learned once for all
// clusters of a version; the others belong to their cluster.
type catalog struct {
	mu      sync.Mutex
	builtin map[versionedKind]Resource
}

type versionedKind struct {
	version string
	kind    schema.GroupVersionKind
}

func newCatalog() *catalog {
	return &catalog{builtin: map[versionedKind]Resource{}}
}

func (c *catalog) get(key versionedKind) (Resource, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	resource, ok := c.builtin[key]
	return resource, ok
}

func (c *catalog) put(key versionedKind, resource Resource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.builtin[key] = resource
}

// resources finds out how one cluster serves kinds.
type resources struct {
	version string
	shared  *catalog
	ask     *discovery.DiscoveryClient

	mu  sync.Mutex
	own map[schema.GroupVersionKind]Resource
}

// Resource returns how a kind is served; meta.IsNoMatchError tells that it is not. A kind that was
// not served is asked for again, for its CRD may have come since.
func (r *resources) Resource(ctx context.Context, kind schema.GroupVersionKind) (Resource, error) {
	if resource, ok := r.known(kind); ok {
		return resource, nil
	}
	list, err := r.serverResources(ctx, kind.GroupVersion())
	if apierrors.IsNotFound(err) {
		return Resource{}, &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	if err != nil {
		return Resource{}, fmt.Errorf("discover %s: %w", kind.GroupVersion(), err)
	}
	resource, ok := find(list, kind)
	if !ok {
		return Resource{}, &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	r.remember(kind, resource)
	return resource, nil
}

func (r *resources) serverResources(ctx context.Context, version schema.GroupVersion) (*metav1.APIResourceList, error) {
	path := "/apis/" + version.String()
	if version.Group == "" {
		path = "/api/" + version.Version
	}
	list := &metav1.APIResourceList{}
	err := r.ask.RESTClient().Get().AbsPath(path).Do(ctx).Into(list)
	return list, err
}

func (r *resources) known(kind schema.GroupVersionKind) (Resource, bool) {
	if isBuiltin(kind.Group) {
		return r.shared.get(versionedKind{r.version, kind})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	resource, ok := r.own[kind]
	return resource, ok
}

func (r *resources) remember(kind schema.GroupVersionKind, resource Resource) {
	if isBuiltin(kind.Group) {
		r.shared.put(versionedKind{r.version, kind}, resource)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own[kind] = resource
}

// forget drops what is known of kinds that do not come with Kubernetes.
func (r *resources) forget(kind schema.GroupVersionKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.own, kind)
}

func isBuiltin(group string) bool {
	return scheme.Scheme.IsGroupRegistered(group)
}

func find(list *metav1.APIResourceList, kind schema.GroupVersionKind) (Resource, bool) {
	for _, candidate := range list.APIResources {
		if candidate.Kind != kind.Kind || strings.Contains(candidate.Name, "/") {
			continue
		}
		return Resource{
			GroupVersionResource: kind.GroupVersion().WithResource(candidate.Name),
			Kind:                 kind.Kind,
			Namespaced:           candidate.Namespaced,
			HasStatus: slices.ContainsFunc(list.APIResources, func(other metav1.APIResource) bool {
				return other.Name == candidate.Name+"/status"
			}),
		}, true
	}
	return Resource{}, false
}
