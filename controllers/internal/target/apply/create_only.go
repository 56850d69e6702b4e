package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/precondition"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// createOnly makes an object. One that is there already is not written to, unless this installation made it: a manager
// may have died before it could record that.
func (w *Writer) createOnly(ctx context.Context, done *Written) {
	answer, err := w.applyNew(ctx, done)
	if err == nil {
		w.settle(ctx, done, answer)
		return
	}
	if !apierrors.IsConflict(err) {
		done.Err = err
		return
	}
	existing, err := w.Cluster.Get(ctx, done.Ref)
	if err != nil {
		done.Err = err
		return
	}
	if !w.isMade(existing) {
		done.adopted, done.Claim = true, objects.Claim{Owner: w.makerOf(existing)}
		return
	}
	done.UID = existing.UID
	w.overwrite(ctx, done)
}

// applyNew applies an object that is not there. One that is, is a conflict.
func (w *Writer) applyNew(ctx context.Context, done *Written) (*metav1.PartialObjectMetadata, error) {
	body, err := precondition.OnlyNew(done.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", done.Ref, err)
	}
	return w.Cluster.Apply(ctx, done.Ref, "", body, false)
}

// isMade is whether this installation applied an object.
func (w *Writer) isMade(object metav1.Object) bool {
	return object.GetLabels()[metav1alpha1.LabelManagedBy] == w.Installation && w.Rules.Ours(object.GetManagedFields()) >= 0
}

// makerOf says for people who made an object.
func (w *Writer) makerOf(object metav1.Object) string {
	if owner := objects.ClaimOf(object, w.Installation).Owner; owner != "" {
		return owner
	}
	for _, entry := range object.GetManagedFields() {
		if entry.Subresource == "" && entry.Manager != "" {
			return "somebody who used " + entry.Manager
		}
	}
	return "somebody else"
}
