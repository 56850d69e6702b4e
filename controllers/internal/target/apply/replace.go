package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/immutable"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// retryReplaced is when an object is looked at again that was deleted to be made anew, though no watch tells that it is gone.
const retryReplaced = 30 * time.Second

// ReplacingError tells that an object was deleted to be made anew. The watch tells when it is gone.
type ReplacingError struct {
	ref    objects.Ref
	fields []string
}

// Error implements error.
func (e *ReplacingError) Error() string {
	return fmt.Sprintf("%s is deleted, since its %s never changes, and made anew when it is gone", e.ref, strings.Join(e.fields, ", "))
}

// IsReplacing tells that a write waits for the deletion of its object.
func IsReplacing(err error) bool {
	var replacing *ReplacingError
	return errors.As(err, &replacing)
}

// isReplaceable is whether an object may be deleted to be made anew: who declares it says so, and nothing else goes with it.
func isReplaceable(object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind().GroupKind()
	return object.GetAnnotations()[metav1alpha1.AnnotationReplace] == "true" && !objects.IsPrerequisite(kind) && kind != objects.ClaimKind
}

// isReplaced is whether the known object went, or goes, so that one with another content takes its place. That it is in the
// inventory with the content before is the record of that: whenever the manager dies, the object is made anew.
func (d Object) isReplaced(known Entry, is ObjectState) (gone, terminating bool) {
	if !d.replaceable || known.Intended() || known.Hash == d.Hash || is.Seen == nil {
		return false, false
	}
	return is.Seen.Gone, !is.Seen.Gone && is.Seen.Object != nil && is.Seen.Object.DeletionTimestamp != nil
}

// replace deletes an object that is ours, or is being taken over, if the API server refuses to change it, and it may be made anew.
// Any other refusal is returned as it is.
func (w *Writer) replace(ctx context.Context, done *Written, refused error) error {
	fields := immutable.Fields(refused)
	if !done.replaceable || len(fields) == 0 || done.UID == "" || !done.Entry.Intended() && done.UID != done.Entry.UID {
		return refused
	}
	err := w.Cluster.Delete(ctx, done.Ref, done.UID)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete it to make it anew: %w", err)
	}
	if done.Entry.Intended() && w.makeAnew(ctx, done) {
		return nil
	}
	return &ReplacingError{ref: done.Ref, fields: fields}
}

// makeAnew makes an object in the place of one that was just deleted, and is whether it did. No watch would tell that the other
// one is gone: it was not ours yet.
func (w *Writer) makeAnew(ctx context.Context, done *Written) bool {
	answer, err := w.applyNew(ctx, done)
	if err != nil {
		return false // It is not gone yet.
	}
	done.adopted, done.UID, done.Result = false, answer.UID, answer
	return true
}

// wakeForReplaced looks again at objects that were deleted, if no watch tells of them.
func (r *Result) wakeForReplaced(now time.Time) {
	for _, one := range r.Written {
		if IsReplacing(one.Err) {
			r.wake(now.Add(retryReplaced))
		}
	}
}
