package resources

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
)

// Resource is how a kind is served.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	// HasStatus: the kind has a status subresource, so its health is more than its existence.
	HasStatus bool
}

// Path of the collection, in one namespace or in all.
func (r Resource) Path(namespace string) []string {
	path := []string{"apis", r.Group, r.Version}
	if r.Group == "" {
		path = []string{"api", r.Version}
	}
	if r.Namespaced && namespace != metav1.NamespaceAll {
		path = append(path, "namespaces", namespace)
	}
	return append(path, r.Resource)
}

// GroupKind is the kind without its version.
func (r Resource) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.Group, Kind: r.Kind}
}

// Mapper finds out how one cluster serves kinds. The kinds that come with Kubernetes are known by the version of the
// API server; of all others the cluster is believed, for itself alone.
type Mapper struct {
	version string
	ask     *discovery.DiscoveryClient

	mu  sync.Mutex
	own map[schema.GroupVersionKind]Resource
}

// New returns a mapper that knows nothing of a cluster yet but the version of its API server; the client asks for the
// rest.
func New(version string, client *discovery.DiscoveryClient) *Mapper {
	return &Mapper{version: version, ask: client, own: map[schema.GroupVersionKind]Resource{}}
}

// Resource returns how a kind is served; meta.IsNoMatchError tells that it is not. A kind that was
// not served is asked for again, for its CRD may have come since.
func (r *Mapper) Resource(ctx context.Context, kind schema.GroupVersionKind) (Resource, error) {
	if resource, ok := r.known(kind); ok {
		return resource, nil
	}
	list, err := r.ServerResources(ctx, kind.GroupVersion())
	if apierrors.IsNotFound(err) {
		return Resource{}, notServed(kind)
	}
	if err != nil {
		return Resource{}, fmt.Errorf("discover %s: %w", kind.GroupVersion(), err)
	}
	resource, ok := find(list, kind)
	if !ok {
		return Resource{}, notServed(kind)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own[kind] = resource
	return resource, nil
}

// notServed is the error for a kind that a cluster says it does not serve. That a kind is not served lets its objects
// count as gone, so of a kind that every cluster serves it is not believed.
func notServed(kind schema.GroupVersionKind) error {
	if isBuiltin(kind) {
		return fmt.Errorf("discover %s: the API server says that it does not serve %s, which comes with Kubernetes; look at what answers at the cluster's address",
			kind.GroupVersion(), kind.Kind)
	}
	return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
}

// ServerResources asks the cluster what it serves in a version of a group.
func (r *Mapper) ServerResources(ctx context.Context, version schema.GroupVersion) (*metav1.APIResourceList, error) {
	path := "/apis/" + version.String()
	if version.Group == "" {
		path = "/api/" + version.Version
	}
	list := &metav1.APIResourceList{}
	err := r.ask.RESTClient().Get().AbsPath(path).Do(ctx).Into(list)
	return list, err
}

func (r *Mapper) known(kind schema.GroupVersionKind) (Resource, bool) {
	if resource, ok := builtinResource(r.version, kind); ok {
		return resource, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	resource, ok := r.own[kind]
	return resource, ok
}

// Forget drops what the cluster said of a kind.
func (r *Mapper) Forget(kind schema.GroupVersionKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.own, kind)
}

// find looks a kind up. A name that no resource can have would lead to another path.
func find(list *metav1.APIResourceList, kind schema.GroupVersionKind) (Resource, bool) {
	for _, candidate := range list.APIResources {
		if candidate.Kind != kind.Kind || len(validation.IsDNS1035Label(candidate.Name)) > 0 {
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
