package objects

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds that need care when they are removed.
var (
	NamespaceKind  = schema.GroupKind{Kind: "Namespace"}
	DefinitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	// ClaimKind is what databases keep their data in. Whoever wants it gone deletes it by hand.
	ClaimKind = schema.GroupKind{Kind: "PersistentVolumeClaim"}
)

// MetadataOf is empty metadata of a kind, for reads and watches of that alone.
func MetadataOf(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}

// IsPrerequisite is whether others need objects of the kind to exist: these come first, and go last.
func IsPrerequisite(kind schema.GroupKind) bool {
	return kind == NamespaceKind || kind == DefinitionKind
}
