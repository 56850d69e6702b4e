// Package optionalkind looks up objects of a kind that the management cluster may not have, such as those of Cluster API and
// cert-manager. It watches them from when their CustomResourceDefinition appears until that is gone.
package optionalkind

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Definition is the form in which CustomResourceDefinitions are in the manager's cache.
func Definition() *metav1.PartialObjectMetadata {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	return crd
}

// CacheOptions narrows what the manager's cache holds of CustomResourceDefinitions to their names. Merge it into the manager's
// cache.Options.ByObject.
func CacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{Definition(): {Transform: identityOnly}}
}

// identityOnly drops what may be large: a definition that was applied from a client has a copy of itself in an annotation.
func identityOnly(object any) (any, error) {
	if crd, ok := object.(*metav1.PartialObjectMetadata); ok {
		crd.ObjectMeta = metav1.ObjectMeta{Name: crd.Name, UID: crd.UID, ResourceVersion: crd.ResourceVersion}
	}
	return object, nil
}

// Presence of an object.
type Presence int

// Presences.
const (
	Present Presence = iota
	Absent
	// NotInstalled: the kind is not there either.
	NotInstalled
)

// Kind of objects. R is what the controller works on.
type Kind[R comparable] struct {
	// Definition is the name of the CustomResourceDefinition, as in "clusters.cluster.x-k8s.io".
	Definition string
	GVK        schema.GroupVersionKind
	// New returns an empty object of the kind, in the form in which the cache holds it.
	New        func() client.Object
	Cache      cache.Cache
	Mapper     meta.RESTMapper
	Controller controller.TypedController[R]
	// Wake is called for objects that come, change and go.
	Wake handler.TypedMapFunc[client.Object, R]

	mu       sync.Mutex
	watching bool
}

// Served watches the kind where it is there, and tells whether it is. An error that meta.IsNoMatchError knows says that the
// definition is there and the version that is needed not, or not yet.
func (k *Kind[R]) Served(ctx context.Context) (bool, error) {
	err := k.Cache.Get(ctx, client.ObjectKey{Name: k.Definition}, Definition())
	if apierrors.IsNotFound(err) {
		return false, k.unwatch(ctx)
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", k.Definition, err)
	}
	if err := k.watch(); err != nil {
		return false, fmt.Errorf("watch %s: %w", k.Definition, err)
	}
	return true, nil
}

// Look reads an object, nil unless it is present. Its errors are those of Served.
func (k *Kind[R]) Look(ctx context.Context, key types.NamespacedName) (client.Object, Presence, error) {
	served, err := k.Served(ctx)
	if err != nil || !served {
		return nil, NotInstalled, err
	}
	object := k.New()
	err = k.Cache.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return nil, Absent, nil
	}
	if err != nil {
		return nil, Absent, fmt.Errorf("read %s %s: %w", k.GVK.Kind, key, err)
	}
	return object, Present, nil
}

func (k *Kind[R]) watch() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watching {
		return nil
	}
	// A watch that starts before the kind is served would complain, and look again only after 10 s.
	if _, err := k.Mapper.RESTMapping(k.GVK.GroupKind(), k.GVK.Version); err != nil {
		return err
	}
	err := k.Controller.Watch(source.TypedKind(k.Cache, k.New(), handler.TypedEnqueueRequestsFromMapFunc(k.Wake)))
	k.watching = err == nil
	return err
}

func (k *Kind[R]) unwatch(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.watching {
		return nil
	}
	k.watching = false
	return k.Cache.RemoveInformer(ctx, k.New())
}
