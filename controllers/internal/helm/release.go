package helm

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// Marks that Helm puts on the objects of a release, and looks for before it touches them.
const (
	labelManagedBy      = "app.kubernetes.io/managed-by"
	managedByHelm       = "Helm"
	annotationName      = "meta.helm.sh/release-name"
	annotationNamespace = "meta.helm.sh/release-namespace"
	annotationPolicy    = "helm.sh/resource-policy"
	policyKeep          = "keep"
)

// Release names a Helm release in a cluster.
type Release struct {
	Namespace string
	Name      string
}

// String is the form for people, as in "cache/valkey".
func (r Release) String() string { return r.Namespace + "/" + r.Name }

// Mark puts Helm's marks on an object of the release. Hooks carry none.
func (r Release) Mark(object *unstructured.Unstructured) {
	object.SetLabels(labels.Merge(object.GetLabels(), labels.Set{labelManagedBy: managedByHelm}))
	object.SetAnnotations(labels.Merge(object.GetAnnotations(), labels.Set{annotationName: r.Name, annotationNamespace: r.Namespace}))
}

// Owns is whether an object carries the marks of the release.
func (r Release) Owns(object metav1.Object) bool {
	annotations := object.GetAnnotations()
	return annotations[annotationName] == r.Name && annotations[annotationNamespace] == r.Namespace
}

// IsKept is whether an object is to stay when its release goes, as helm.sh/resource-policy says.
func IsKept(object metav1.Object) bool {
	return object.GetAnnotations()[annotationPolicy] == policyKeep
}
