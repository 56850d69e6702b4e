package addonrelease

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

func TestAKindThatTheAddonBringsAlongIsAwaited(t *testing.T) {
	declared := []desired{{
		Ref:  objects.Ref{GroupVersionKind: objects.DefinitionKind.WithVersion("v1"), Name: "widgets.example.com"},
		body: []byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"group":"example.com","names":{"kind":"Widget"}}}`),
	}}
	missing := func(kind string) written {
		ref := objects.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: kind}, Name: "one"}
		return written{write: write{desired: desired{Ref: ref}}, err: &meta.NoKindMatchError{GroupKind: ref.GroupKind()}}
	}
	made := []written{missing("Widget"), missing("Gadget")}
	excuseLateKinds(declared, made)
	if made[0].err == nil || isFinal(made[0].err) {
		t.Errorf("of the kind that is defined: %v", made[0].err)
	}
	if !isFinal(made[1].err) {
		t.Errorf("of the kind that is not: %v", made[1].err)
	}
}
