// Package objects names objects of workload clusters.
package objects

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref names one object of a workload cluster, with the API version it is written in.
type Ref struct {
	schema.GroupVersionKind
	Namespace string
	Name      string
}

// Key names the object itself, whatever API version it is read or written in.
type Key struct {
	schema.GroupKind
	Namespace string
	Name      string
}

// RefOf returns the reference to an object.
func RefOf(object *unstructured.Unstructured) Ref {
	return Ref{GroupVersionKind: object.GroupVersionKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
}

// Key drops the API version.
func (r Ref) Key() Key {
	return Key{GroupKind: r.GroupKind(), Namespace: r.Namespace, Name: r.Name}
}

// ID is the form that is kept in an inventory: apiVersion/Kind/namespace/name, as in
// "apps/v1/Deployment/cache/web" or "v1/Namespace//cache". ParseID reads it back.
func (r Ref) ID() string {
	return r.GroupVersion().String() + "/" + r.Kind + "/" + r.Namespace + "/" + r.Name
}

// String is the form for people: "Deployment cache/web".
func (r Ref) String() string {
	return r.Key().String()
}

// String is the form for people: "Deployment cache/web".
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// ParseID reads what Ref.ID wrote.
func ParseID(id string) (Ref, error) {
	parts := strings.Split(id, "/")
	if len(parts) < 4 || len(parts) > 5 {
		return Ref{}, fmt.Errorf("inventory id %q is not apiVersion/Kind/namespace/name", id)
	}
	tail := parts[len(parts)-3:]
	groupVersion, err := schema.ParseGroupVersion(strings.Join(parts[:len(parts)-3], "/"))
	if err != nil {
		return Ref{}, fmt.Errorf("inventory id %q: %w", id, err)
	}
	return Ref{GroupVersionKind: groupVersion.WithKind(tail[0]), Namespace: tail[1], Name: tail[2]}, nil
}
