package apply

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		return withoutValues(status)
	case status.Message == "":
		return err.Error()
	}
	return status.Message
}

func withoutValues(status metav1.Status) string {
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
	return message + "; its words are left out because they may quote the Secret"
}
