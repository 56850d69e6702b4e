package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/immutable"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Explain makes the error of a write readable: what the API server says, without its wrapping. Of a
// Secret only the reason and the fields are told: an API server quotes the values that it refuses.
func Explain(ref objects.Ref, err error) string {
	if err == nil {
		return "no answer"
	}
	refused := apierrors.APIStatus(nil)
	if !errors.As(err, &refused) {
		return err.Error()
	}
	status := refused.Status()
	switch {
	case ref.Kind == "Secret" && ref.Group == "":
		return withoutValues(ref, status)
	case status.Message == "":
		return err.Error()
	}
	if fields := immutable.Fields(err); len(fields) > 0 {
		return fmt.Sprintf("%s of a %s never changes (%s): delete the %s, and it is made anew, or set the annotation %s: \"true\" on it in what is declared",
			strings.Join(fields, ", "), ref.Kind, immutable.Words(err), ref.Kind, metav1alpha1.AnnotationReplace)
	}
	if words := immutable.Words(err); words != "" {
		return words
	}
	return status.Message
}

func withoutValues(ref objects.Ref, status metav1.Status) string {
	if details := status.Details; details != nil && details.Kind == "namespaces" && details.Name == ref.Namespace && status.Reason == metav1.StatusReasonNotFound {
		return fmt.Sprintf("Namespace %s does not exist: create it, or name another one", ref.Namespace)
	}
	var fields []string
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Field != "" {
				fields = append(fields, cause.Field)
			}
		}
	}
	message := strings.TrimSpace(fmt.Sprintf("the API server answers %d %s", status.Code, status.Reason))
	if len(fields) > 0 {
		message += " for " + strings.Join(fields, ", ")
	}
	if slices.Contains(fields, "type") {
		message += ", which never changes: delete the Secret, and it is made anew"
	}
	return message + "; its words are left out because they may quote the Secret"
}
