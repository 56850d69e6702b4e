// Package forbidden tells apart why an API server forbids a request. It is pure.
package forbidden

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// How an API server begins its reasons to forbid something. It has no other sign of them.
const (
	lacksRights   = `User "`
	exceedsQuotas = "exceeded quota: "
	ourPolicy     = "ValidatingAdmissionPolicy 'daytwo-"
)

// LacksRights tells that no role permits the request to the manager.
func LacksRights(err error) bool { return begins(err, lacksRights) }

// ExceedsQuota tells that a quota of the namespace is used up.
func ExceedsQuota(err error) bool { return begins(err, exceedsQuotas) }

// ByOurPolicy tells that an admission policy which is installed with Daytwo does not take the caller for the manager.
func ByOurPolicy(err error) bool { return begins(err, ourPolicy) }

// begins looks at where the reason begins: webhooks and policies, which may say anything, are named there.
func begins(err error, reason string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	details := status.Status().Details
	resource := schema.GroupResource{Group: details.Group, Resource: details.Kind}
	return strings.HasPrefix(status.Status().Message, apierrors.NewForbidden(resource, details.Name, errors.New(reason)).Error())
}
