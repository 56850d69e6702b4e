package objects

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRefSurvivesItsID(t *testing.T) {
	refs := map[string]Ref{
		"apps/v1/Deployment/cache/web": {
			GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "cache", Name: "web",
		},
		"v1/Namespace//cache": {
			GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: "cache",
		},
		"rbac.authorization.k8s.io/v1/ClusterRole//system:reader": {
			GroupVersionKind: schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, Name: "system:reader",
		},
	}
	for id, ref := range refs {
		if got := ref.ID(); got != id {
			t.Errorf("ID() = %q, want %q", got, id)
		}
		if got, err := ParseID(id); err != nil || got != ref {
			t.Errorf("ParseID(%q) = %v, %v, want %v", id, got, err, ref)
		}
	}
}

func TestParseIDRefusesWhatIsNoID(t *testing.T) {
	for _, id := range []string{"", "v1/ConfigMap/web", "a/b/c/d/e/f"} {
		if ref, err := ParseID(id); err == nil {
			t.Errorf("ParseID(%q) = %v, want an error", id, ref)
		}
	}
}
