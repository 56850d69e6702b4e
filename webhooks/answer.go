package webhooks

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
	"github.com/daytwo-dev/daytwo/internal/forbidden"
)

// answer tells a refusal from no answer. That the manager lacks a right is not for whoever orders to mend.
func answer(err error, name string) (refusal string, undecided error) {
	if err == nil || topology.IsUndecided(err) || forbidden.LacksRights(err) {
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
	case forbidden.ExceedsQuota(err):
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
