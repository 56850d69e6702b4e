package manifests

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// FieldManager is the name under which Apply owns fields.
const FieldManager = "local-fleet"

const (
	lookEvery = 50 * time.Millisecond
	// Establishing a definition takes milliseconds, but it waits its turn.
	establishedDeadline = time.Minute
)

var (
	namespaceKind  = schema.GroupKind{Kind: "Namespace"}
	definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

// applier applies objects to one cluster.
type applier struct {
	client dynamic.Interface
	mapper meta.ResettableRESTMapper
}

// Apply writes objects with server-side apply, taking over fields that somebody
// else set: namespaces and definitions first, then, once the definitions are
// served, the rest in the given order. Namespaced objects that name no namespace
// go to "default".
func Apply(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) error {
	a, err := newApplier(config)
	if err != nil {
		return err
	}
	first, rest := split(objects)
	for _, object := range first {
		if err := a.apply(ctx, object); err != nil {
			return err
		}
	}
	if err := a.waitServed(ctx, first); err != nil {
		return err
	}
	for _, object := range rest {
		if err := a.apply(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

func newApplier(config *rest.Config) (*applier, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	resources, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(resources))
	return &applier{client: client, mapper: mapper}, nil
}

// split returns what others depend on, and the rest.
func split(objects []*unstructured.Unstructured) (first, rest []*unstructured.Unstructured) {
	for _, object := range objects {
		kind := object.GroupVersionKind().GroupKind()
		if kind == namespaceKind || kind == definitionKind {
			first = append(first, object)
			continue
		}
		rest = append(rest, object)
	}
	return first, rest
}

func (a *applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	resource, err := a.resource(object)
	if err != nil {
		return fmt.Errorf("apply %s: %w", describe(object), err)
	}
	options := metav1.ApplyOptions{FieldManager: FieldManager, Force: true}
	if _, err := resource.Apply(ctx, object.GetName(), object, options); err != nil {
		return fmt.Errorf("apply %s: %w", describe(object), err)
	}
	return nil
}

func (a *applier) resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the cluster does not know this kind; apply its definition too: %w", err)
	}
	if err != nil {
		return nil, err
	}
	resource := a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return resource, nil
	}
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return resource.Namespace(namespace), nil
}

// waitServed waits until objects of all definitions among these can be written.
func (a *applier) waitServed(ctx context.Context, objects []*unstructured.Unstructured) error {
	var pending string
	err := wait.PollUntilContextTimeout(ctx, lookEvery, establishedDeadline, true,
		func(ctx context.Context) (bool, error) {
			a.mapper.Reset()
			for _, object := range objects {
				pending = describe(object)
				served, err := a.served(ctx, object)
				if err != nil || !served {
					return false, err
				}
			}
			return true, nil
		})
	if err != nil {
		return fmt.Errorf("wait until %s is served: %w", pending, err)
	}
	return nil
}

// served tells whether a definition is established and its kind can be
// discovered, which comes a moment later. Other objects need no wait.
func (a *applier) served(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	if object.GroupVersionKind().GroupKind() != definitionKind {
		return true, nil
	}
	resource, err := a.resource(object)
	if err != nil {
		return false, err
	}
	live, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
	if err != nil || !established(live) {
		return false, err
	}
	group, _, _ := unstructured.NestedString(live.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(live.Object, "spec", "names", "kind")
	_, err = a.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind})
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

func established(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(condition any) bool {
		fields, ok := condition.(map[string]any)
		return ok && fields["type"] == "Established" && fields["status"] == "True"
	})
}

func describe(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + " " + object.GetName()
	}
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}
