package fleet

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsAnother tells from the error of an Apply with a UID that the object may not be there any more, or be another one
// of that name. The API server says 409 for the first, which other things are too, and 422 for the second. It is so
// in another cluster as well: ask Confirm which it is.
func IsAnother(err error) bool {
	if apierrors.IsConflict(err) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}
