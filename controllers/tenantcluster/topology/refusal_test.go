package topology

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestOnlyWhatNoFurtherTryMendsIsARefusal(t *testing.T) {
	kind, resource := schema.GroupKind{Kind: "Cluster"}, schema.GroupResource{Resource: "clusters"}
	variables := field.NewPath("spec", "topology", "variables")
	invalid := apierrors.NewInvalid(kind, "prod", field.ErrorList{
		field.Invalid(variables.Key("size"), "7", "variable is not defined"), field.Required(variables.Key("region"), "it has no default"),
	})
	for name, test := range map[string]struct {
		err  error
		says string
	}{
		"several fields": {
			invalid, `Cluster prod is refused: spec.topology.variables[size]: Invalid value: "7": variable is not defined; ` +
				`spec.topology.variables[region]: Required value: it has no default: correct spec.topology`,
		},
		"no field": {apierrors.NewBadRequest("no version"), "Cluster prod is refused: no version: correct spec.topology"},
		"forbidden": {
			apierrors.NewForbidden(resource, "prod", errors.New("exceeded quota")),
			`Cluster prod is refused: clusters "prod" is forbidden: exceeded quota`,
		},
		"nobody there to ask": {apierrors.NewInternalError(errors.New("failed calling webhook")), ""},
		"too late":            {apierrors.NewConflict(resource, "prod", errors.New("it was changed")), ""},
		"no answer":           {errors.New("connection refused"), ""},
		"nothing wrong":       {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if says, refused := Refusal(test.err, "prod"); says != test.says || refused != (test.says != "") {
				t.Errorf("Refusal() = %q, %t, want %q", says, refused, test.says)
			}
		})
	}
}
