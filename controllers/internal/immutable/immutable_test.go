package immutable

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// invalid is an answer in the words of API servers of Kubernetes 1.36.
func invalid(field, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Reason: metav1.StatusReasonInvalid, Code: 422, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: field, Message: message}}},
	}}
}

func TestAFieldThatNeverChangesIsNamedWithoutItsValue(t *testing.T) {
	const dump = `core.PodTemplateSpec{ObjectMeta:v1.ObjectMeta{Name:"", Labels:map[string]string{"a":"}: \"no"}}, Spec:core.PodSpec{Volumes:[]core.Volume(nil)}}`
	for name, test := range map[string]struct {
		err    error
		fields []string
		words  string
	}{
		"a Job": {invalid("spec.template", "Invalid value: "+dump+": field is immutable"), []string{"spec.template"}, "spec.template: field is immutable"},
		"a StatefulSet": {invalid("spec", "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals' are forbidden"), []string{"spec"},
			"spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals' are forbidden"},
		"a RoleBinding": {invalid("roleRef", `Invalid value: rbac.RoleRef{APIGroup:"x", Kind:"Role", Name:"a"}: cannot change roleRef`), []string{"roleRef"}, "roleRef: cannot change roleRef"},
		"a Service":     {invalid("spec.clusterIPs[0]", `Invalid value: ["10.0.0.1"]: may not change once set`), []string{"spec.clusterIPs[0]"}, `spec.clusterIPs[0]: Invalid value: ["10.0.0.1"]: may not change once set`},
		"a claim": {invalid("spec", "Forbidden: spec is immutable after creation except resources.requests\n  core.PersistentVolumeClaimSpec{\n  ..."), []string{"spec"},
			"spec: Forbidden: spec is immutable after creation except resources.requests"},
		"a bad value": {invalid("spec.replicas", "Invalid value: -1: must be greater than or equal to 0"), nil, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		"no answer":   {errors.New("no answer"), nil, ""},
	} {
		if fields := Fields(test.err); !slices.Equal(fields, test.fields) {
			t.Errorf("%s: fields %q", name, fields)
		}
		if words := Words(test.err); words != test.words || strings.Contains(words, "PodSpec") {
			t.Errorf("%s: %q", name, words)
		}
	}
}
