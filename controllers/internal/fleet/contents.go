package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/resources"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Blocker is an object that stands in the way of removing a namespace or a kind. The zero value is
// nobody.
type Blocker struct {
	Kind, Namespace, Name string
	// Passing: it is being deleted, or goes with its owner; it will be gone without anybody's doing.
	Passing bool
}

// String is the form for people, as in "Pod cache/web-0".
func (o Blocker) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// ContentOf returns what stands in the way of removing a namespace or a definition; nobody for objects of
// other kinds.
func (c *Cluster) ContentOf(ctx context.Context, ref objects.Ref) (Blocker, error) {
	switch ref.GroupKind() {
	case objects.NamespaceKind:
		return c.BlockerOf(ctx, ref.Name)
	case objects.DefinitionKind:
		return c.InstanceOf(ctx, ref.Name)
	}
	return Blocker{}, nil
}

// BlockerOf returns an object in a namespace, one that stays before one that is passing. What every
// namespace has does not count, nor do events and the like, which nobody keeps. While an API group does not say
// what it serves, a namespace without a blocker may still hold its objects: that is a *resources.UndiscoveredError.
func (c *Cluster) BlockerOf(ctx context.Context, namespace string) (Blocker, error) {
	found, err := resources.Discover(c.discovery)
	if err != nil {
		return Blocker{}, err
	}
	var transient Blocker
	for _, list := range found.Lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return Blocker{}, err
		}
		for _, resource := range list.APIResources {
			if !resource.Namespaced || !slices.Contains(resource.Verbs, "list") || fleeting(version.Group, resource.Kind) {
				continue
			}
			blocker, err := c.blocker(ctx, version.WithResource(resource.Name), resource.Kind, namespace)
			if err != nil {
				return Blocker{}, err
			}
			if blocker.Name != "" && !blocker.Passing {
				return blocker, nil
			}
			if blocker.Name != "" {
				transient = blocker
			}
		}
	}
	if transient.Name != "" {
		return transient, nil
	}
	return Blocker{}, found.Failed()
}

// InstanceOf returns an object of the kind that a CustomResourceDefinition defines, given the
// definition's name, <plural>.<group>. Its group must say what it serves; otherwise that is a *resources.UndiscoveredError.
func (c *Cluster) InstanceOf(ctx context.Context, definition string) (Blocker, error) {
	plural, group, _ := strings.Cut(definition, ".")
	found, err := resources.Discover(c.discovery)
	if err != nil {
		return Blocker{}, err
	}
	for _, list := range found.Lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return Blocker{}, err
		}
		for _, resource := range list.APIResources {
			if version.Group == group && resource.Name == plural {
				return c.blocker(ctx, version.WithResource(plural), resource.Kind, metav1.NamespaceAll)
			}
		}
	}
	return Blocker{}, found.FailedIn(group)
}

func (c *Cluster) blocker(ctx context.Context, resource schema.GroupVersionResource, kind, namespace string) (Blocker, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	list, err := c.metadata.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: pageSize})
	if apierrors.IsMethodNotSupported(err) || apierrors.IsNotFound(err) && c.servesNoMore(ctx, resource) {
		return Blocker{}, nil
	}
	if err != nil {
		return Blocker{}, fmt.Errorf("list %s: %w", resource.GroupResource(), err)
	}
	var transient Blocker
	for i := range list.Items {
		item := &list.Items[i]
		if everywhere(kind, item.Name) {
			continue
		}
		found := Blocker{
			Kind: kind, Namespace: item.Namespace, Name: item.Name,
			Passing: item.DeletionTimestamp != nil || len(item.OwnerReferences) > 0,
		}
		if !found.Passing {
			return found, nil
		}
		transient = found
	}
	return transient, nil
}

// servesNoMore is whether a kind that was just discovered is not served any more, as when its definition goes.
func (c *Cluster) servesNoMore(ctx context.Context, resource schema.GroupVersionResource) bool {
	list, err := c.ServerResources(ctx, resource.GroupVersion())
	return apierrors.IsNotFound(err) || err == nil && !slices.ContainsFunc(list.APIResources, func(one metav1.APIResource) bool {
		return one.Name == resource.Resource
	})
}

// fleeting kinds come and go by themselves, or are only views of others.
func fleeting(group, kind string) bool {
	switch kind {
	case "Event", "Endpoints", "EndpointSlice", "Lease", "PodMetrics":
		return true
	}
	return group == "metrics.k8s.io"
}

// everywhere are the objects that Kubernetes puts into every namespace.
func everywhere(kind, name string) bool {
	return kind == "ConfigMap" && name == "kube-root-ca.crt" || kind == "ServiceAccount" && name == "default"
}
