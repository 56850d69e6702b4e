package apply

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

// adoptedFrom says who else an object belongs to that is there already; empty for nobody. What this installation made may be
// another target's until now: marks of an owner that nobody but that one has set, such as those of its Helm release, go
// with it.
func (w *Writer) adoptedFrom(object *metav1.PartialObjectMetadata) string {
	owner := w.ownerOf(object)
	if owner == "" || !w.isMade(object) {
		return owner
	}
	rest := object.DeepCopy()
	maps.DeleteFunc(rest.Annotations, func(name, _ string) bool { return w.isOursAlone(object, "annotations", name) })
	maps.DeleteFunc(rest.Labels, func(name, _ string) bool {
		return name != metav1alpha1.LabelManagedBy && w.isOursAlone(object, "labels", name)
	})
	return w.ownerOf(rest)
}

// isOursAlone is whether nobody else has set a label or an annotation that this installation has.
func (w *Writer) isOursAlone(object *metav1.PartialObjectMetadata, where, name string) bool {
	pointer := "/metadata/" + where + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	ours := false
	for i := range object.ManagedFields {
		entry := &object.ManagedFields[i]
		fields, err := managedfields.Fields(entry)
		if err != nil {
			return false
		}
		if !managedfields.OwnsPointer(fields, pointer) {
			continue
		}
		if !w.Rules.IsOurs(entry) {
			return false
		}
		ours = true
	}
	return ours
}
