package managedfields

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// reloadDomain is that of the annotations of pod templates by which workloads are restarted.
const reloadDomain = "reload.certificates.daytwo.dev/"

// ReloadAnnotation is the annotation of pod templates that holds the hash of one delivered object.
func ReloadAnnotation(id string) string { return reloadDomain + id }

// ReloadManager is the field manager of that annotation. Each has its own: an apply takes away what its manager owns and does
// not apply again, and to take another annotation away would restart the pods.
func (c Controllers) ReloadManager(id string) string { return c.self + "-reload-" + id }

// reloads says whether a field is such an annotation, of whichever installation. The workload may belong to an add-on, and to
// take the annotation back would restart the pods another time.
func reloads(s Subject, entry *metav1.ManagedFieldsEntry, path fieldpath.Path) bool {
	if s.Kind.Group != "apps" || entry.Operation != metav1.ManagedFieldsOperationApply || !strings.HasPrefix(entry.Manager, metav1alpha1.FieldManager+"-") {
		return false
	}
	const above = 4 // spec, template, metadata, annotations
	if len(path) != above+1 || path[above].FieldName == nil || !strings.HasPrefix(*path[above].FieldName, reloadDomain) {
		return false
	}
	return slices.EqualFunc(path[:above], []string{"spec", "template", "metadata", "annotations"}, func(element fieldpath.PathElement, name string) bool {
		return element.FieldName != nil && *element.FieldName == name
	})
}
