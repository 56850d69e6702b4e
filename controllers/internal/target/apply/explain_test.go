package apply

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

func TestRefusalsOfSecretsAreExplainedWithoutTheServersWords(t *testing.T) {
	ref := objects.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespace: "shop", Name: "ingress"}
	status := func(code int32, reason metav1.StatusReason, details *metav1.StatusDetails) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: "hunter2", Details: details}}
	}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"a namespace that does not exist": {
			status(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Kind: "namespaces", Name: "shop"}), "Namespace shop does not exist: create it",
		},
		"another namespace than that of the Secret": {
			status(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Kind: "namespaces", Name: "hunter2"}), "the API server answers 404 NotFound; its words are left out",
		},
		"another type": {
			status(422, metav1.StatusReasonInvalid, &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: "type", Message: "hunter2"}}}),
			"422 Invalid for type, which never changes: delete the Secret",
		},
		"nothing more": {status(500, metav1.StatusReasonInternalError, nil), "the API server answers 500 InternalError"},
	} {
		got := Explain(ref, test.err)
		if !strings.Contains(got, test.want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
