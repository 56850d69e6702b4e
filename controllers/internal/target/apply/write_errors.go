package apply

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// IsFinal says whether another try of a write cannot help.
func IsFinal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsMethodNotSupported(err) || meta.IsNoMatchError(err) || apierrors.IsRequestEntityTooLargeError(err) ||
		isTypeError(err)
}

// isTypeError: the object does not fit its schema. Server-side apply reports that as an internal error,
// which only its text tells from others.
func isTypeError(err error) bool {
	return err != nil && strings.Contains(err.Error(), "failed to create typed patch object")
}
