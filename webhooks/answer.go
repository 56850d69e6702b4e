package webhooks

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// How an API server begins its own reasons to forbid something. It has no other sign of them.
const (
	lacksRights   = `User "`
	exceedsQuotas = "exceeded quota: "
)

// answer tells a refusal from no answer. That the manager lacks a right is not for whoever orders to mend.
func answer(err error, name string) (refusal string, undecided error) {
	if err == nil || topology.IsUndecided(err) || isForbidden(err, lacksRights) {
		return "", err
	}
	if message, refused := topology.Refusal(err, name); refused {
		return message, nil
	}
	return "", err
}

// answerForAnother is the answer to a Cluster that will never exist. Who has rules for names or numbers of Clusters
// may refuse it for those, so that only what is said of its topology counts. A quota is looked at last, when everybody
// else has agreed.
func answerForAnother(err error, name string) (refusal string, undecided error) {
	switch {
	case isForbidden(err, exceedsQuotas):
		return "", nil
	case !concernsTopology(err):
		return "", err
	}
	return answer(err, name)
}

// concernsTopology knows what is wrong with a field by its path. Admission policies name none.
func concernsTopology(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Type != metav1.CauseType(field.ErrorTypeInternal) && strings.HasPrefix(cause.Field, "spec.topology")
	})
}

// isForbidden looks at where the reason begins: webhooks and policies, which may say anything, are named there.
func isForbidden(err error, reason string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	details := status.Status().Details
	resource := schema.GroupResource{Group: details.Group, Resource: details.Kind}
	return strings.HasPrefix(status.Status().Message, apierrors.NewForbidden(resource, details.Name, errors.New(reason)).Error())
}
