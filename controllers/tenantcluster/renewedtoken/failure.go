package renewedtoken

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

// Failure says why there is no new token. It holds nothing that a cluster told in words of its own.
type Failure struct{ Reason, Message string }

func (f *Failure) Error() string { return f.Message }

// FailureOf tells what people are to know of an error.
func FailureOf(err error) *Failure {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure
	}
	return &Failure{tenancyv1alpha1.ReasonRenewalFailed, "No token could be requested: " + tell(err) + "."}
}

// tell is what went wrong in words of our own: a cluster may quote in its errors what it was sent.
func tell(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return strings.TrimSpace(fmt.Sprintf("the API server answers %d %s", status.Status().Code, knownReason(err)))
	}
	return fleet.Describe(err)
}

// knownReason is one of the reasons that Kubernetes knows, and not a text of the server's; empty for any other.
func knownReason(err error) metav1.StatusReason {
	switch reason := apierrors.ReasonForError(err); reason {
	case metav1.StatusReasonForbidden, metav1.StatusReasonNotFound, metav1.StatusReasonConflict, metav1.StatusReasonInvalid, metav1.StatusReasonUnauthorized,
		metav1.StatusReasonTooManyRequests, metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout, metav1.StatusReasonInternalError,
		metav1.StatusReasonServiceUnavailable, metav1.StatusReasonBadRequest, metav1.StatusReasonMethodNotAllowed:
		return reason
	}
	return metav1.StatusReasonUnknown
}
