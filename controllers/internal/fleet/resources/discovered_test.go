package resources

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAKindIsMissingOnlyIfItsGroupSaysSo(t *testing.T) {
	found := Discovered{
		Lists: []*metav1.APIResourceList{
			{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Kind: "Deployment"}}},
			{GroupVersion: "shop.example.com/v2", APIResources: []metav1.APIResource{{Kind: "Cart"}}},
		},
		failed: []schema.GroupVersion{{Group: "broken.example.com", Version: "v1"}, {Group: "shop.example.com", Version: "v1"}},
	}
	for kind, want := range map[schema.GroupKind]struct {
		version string
		served  bool
		unknown bool
	}{
		{Group: "apps", Kind: "Deployment"}:          {"v1", true, false},
		{Group: "apps", Kind: "Cart"}:                {"", false, false},
		{Group: "nowhere.example.com", Kind: "Cart"}: {"", false, false},
		{Group: "broken.example.com", Kind: "Gear"}:  {"", false, true},
		{Group: "shop.example.com", Kind: "Cart"}:    {"v2", true, false},
		{Group: "shop.example.com", Kind: "Shelf"}:   {"", false, true},
	} {
		version, served, err := found.Version(kind)
		var undiscovered *UndiscoveredError
		if version != want.version || served != want.served || errors.As(err, &undiscovered) != want.unknown {
			t.Errorf("%s: %q, %t, %v", kind, version, served, err)
		}
	}
	var undiscovered *UndiscoveredError
	if !errors.As(found.Failed(), &undiscovered) || undiscovered.GroupVersion.Group != "broken.example.com" || undiscovered.Others != 1 {
		t.Errorf("got %v", found.Failed())
	}
	if err := (Discovered{}).Failed(); err != nil {
		t.Errorf("nothing failed, and %v", err)
	}
}
