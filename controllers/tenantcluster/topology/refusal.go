package topology

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
