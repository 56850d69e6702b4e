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

func TestWhatDoesNotSpeakOfTheOrderIsUndecided(t *testing.T) {
	kind, class := schema.GroupKind{Kind: "Cluster"}, field.NewPath("spec", "topology", "classRef")
	unknown := field.InternalError(class, errors.New("ClusterClass is not found"))
	for name, test := range map[string]struct {
		err       error
		undecided bool
	}{
		"the class cannot be read": {apierrors.NewInvalid(kind, "prod", field.ErrorList{unknown}), true},
		"a field is wrong, too":    {apierrors.NewInvalid(kind, "prod", field.ErrorList{unknown, field.Required(class, "no name")}), false},
		"nothing can be rehearsed": {apierrors.NewBadRequest(`admission webhook "x" does not support dry run`), true},
		"refused without a cause":  {apierrors.NewBadRequest("no"), false},
		"no refusal":               {nil, false},
	} {
		if undecided := IsUndecided(test.err); undecided != test.undecided {
			t.Errorf("%s: undecided: %v", name, undecided)
		}
	}
}
