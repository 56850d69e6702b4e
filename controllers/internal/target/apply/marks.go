package apply

import (
	"context"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Adoption says what becomes of an object that is there already when one of that name is declared first.
type Adoption int

const (
	// AdoptUnclaimed takes over what carries nobody's marks.
	AdoptUnclaimed Adoption = iota
	// AdoptNothing leaves what this installation did not make as it is.
	AdoptNothing
	// AdoptFromTools takes over what carries the marks of tools, too.
	AdoptFromTools
)

// acquire returns an object that is there already, if it may be written to, and nil if it is left to whom it belongs. The marks
// of tools go before anything else changes: after a crash the object is nobody's.
func (w *Writer) acquire(ctx context.Context, done *Written, object *metav1.PartialObjectMetadata, claim objects.Claim) *metav1.PartialObjectMetadata {
	if claim.Owner != "" && (!claim.ByTool || done.Adoption != AdoptFromTools) {
		done.Claim = claim
		return nil
	}
	patch := objects.RemoveMarks(object)
	if claim.Owner == "" || patch == nil {
		return object
	}
	unmarked, err := w.Cluster.Patch(ctx, done.Ref, object.UID, patch)
	if err != nil {
		done.Err = fmt.Errorf("take the marks of %s off: %w", claim.Owner, err)
		return nil
	}
	return unmarked
}

// adoptedFrom says who else an object belongs to that is there already. What this installation made may be another target's
// until now: marks of an owner that nobody but that one has set, such as those of its Helm release, go with it.
func (w *Writer) adoptedFrom(object *metav1.PartialObjectMetadata) objects.Claim {
	claim := w.claimOf(object)
	if claim.Owner == "" || !w.isMade(object) {
		return claim
	}
	rest := object.DeepCopy()
	maps.DeleteFunc(rest.Annotations, func(name, _ string) bool { return w.isOursAlone(object, "annotations", name) })
	maps.DeleteFunc(rest.Labels, func(name, _ string) bool {
		return name != metav1alpha1.LabelManagedBy && w.isOursAlone(object, "labels", name)
	})
	return w.claimOf(rest)
}

// isOursAlone is whether nobody else has set a label or an annotation that this installation has.
func (w *Writer) isOursAlone(object *metav1.PartialObjectMetadata, where, name string) bool {
	pointer := objects.MetadataPointer(where, name)
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
