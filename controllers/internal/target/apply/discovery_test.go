package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

func TestAKindThatTheAddonBringsAlongIsAwaited(t *testing.T) {
	declared := []Object{{
		Ref:  objects.Ref{GroupVersionKind: objects.DefinitionKind.WithVersion("v1"), Name: "widgets.example.com"},
		Body: []byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"group":"example.com","names":{"kind":"Widget"}}}`),
	}}
	missing := func(kind string) Written {
		ref := objects.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: kind}, Name: "one"}
		return Written{Write: Write{Object: Object{Ref: ref}}, Err: &meta.NoKindMatchError{GroupKind: ref.GroupKind()}}
	}
	made := []Written{missing("Widget"), missing("Gadget")}
	excuseLateKinds(declared, made)
	if made[0].Err == nil || IsFinal(made[0].Err) {
		t.Errorf("of the kind that is defined: %v", made[0].Err)
	}
	if !IsFinal(made[1].Err) {
		t.Errorf("of the kind that is not: %v", made[1].Err)
	}
}
