package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Refusal tells a person what Cluster API, or who else has a say in Clusters, refuses of one, and returns false
// for what the next try may mend.
func Refusal(err error, cluster string) (message string, refused bool) {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("Cluster %s is refused: %s", cluster, words(err)), true
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return fmt.Sprintf("Cluster %s is refused: %s: correct spec.topology", cluster, words(err)), true
	}
	return "", false
}

// IsUndecided knows the refusals that do not speak of the order: Cluster API could not find something out (which
// class a Cluster that exists already changes to, say), or somebody's webhook cannot run dry.
func IsUndecided(err error) bool {
	if LacksDryRun(err) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return false
	}
	return !slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Type != metav1.CauseType(field.ErrorTypeInternal)
	})
}

// LacksDryRun says that somebody's webhook has side effects, so that there is no dry run.
func LacksDryRun(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}

// words are what an API server says, without what it says around it: of every field that is wrong, or else at all.
func words(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err.Error()
	}
	var causes []string
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			causes = append(causes, strings.TrimPrefix(cause.Field+": "+cause.Message, ": "))
		}
	}
	if len(causes) == 0 {
		return status.Status().Message
	}
	return strings.Join(causes, "; ")
}
