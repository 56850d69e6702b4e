package certificatedelivery

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
)

func TestSelectionsAreToldFromEachOther(t *testing.T) {
	selections := []map[string][]string{
		nil,
		{"tier=web": {}},
		{"tier=web": {"shop"}},
		{"tier=web": {"cart", "shop"}},
		{"tier=web": {"cart", "shop"}, "tier=db": {}},
		{"tier=web": {"cart"}, "tier=db": {"shop"}},
		{"tier=web": {"shop"}, "tier=db": {"cart"}},
	}
	seen := map[string]int{}
	for i, selection := range selections {
		hash := hashOf(selection)
		if other, taken := seen[hash]; taken {
			t.Errorf("%v and %v have the same hash", selections[other], selection)
		}
		if seen[hash] = i; hashOf(selection) != hash {
			t.Errorf("%v has two hashes", selection)
		}
	}
	if hashOf(nil) != "" || hashOf(map[string][]string{}) != "" {
		t.Error("without selectors there is a hash")
	}
}

func TestNamespacesArePartOfTheInputs(t *testing.T) {
	for _, test := range []struct{ inputs, namespaces, want string }{
		{"abc", "", "abc"}, {"abc", "def", "abc-def"}, {"", "", ""},
	} {
		if got := withNamespaces(test.inputs, test.namespaces); got != test.want {
			t.Errorf("%q with %q is %q", test.inputs, test.namespaces, got)
		}
	}
}

func TestSelectorsOfARevisionAreInOrderAndOnce(t *testing.T) {
	w := newWanted(t,
		secretTarget("a", selecting("tier", "web")), secretTarget("b", in("shop")), secretTarget("c", selecting("tier", "db")),
		trustTarget("ConfigMap", "a", selecting("tier", "web")), trustTarget("ConfigMap", "b", certificatesv1alpha1.Placement{NamespaceSelector: &metav1.LabelSelector{}}),
	)
	if got := selectorsOf(w.Content); !slices.Equal(got, []string{"<none>", "tier=db", "tier=web"}) {
		t.Errorf("got %v", got)
	}
	if got := selectorsOf(newWanted(t, secretTarget("a", in("shop"))).Content); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// What a status repeats has to select what the bundle says.
func TestASelectorReadsAsItWasWritten(t *testing.T) {
	for _, selector := range []metav1.LabelSelector{
		{},
		{MatchLabels: map[string]string{"b": "2", "a": "1"}},
		{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "db"}}, {Key: "old", Operator: metav1.LabelSelectorOpDoesNotExist},
			{Key: "zone", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"x"}}, {Key: "a.b/c", Operator: metav1.LabelSelectorOpExists},
		}},
	} {
		want, err := metav1.LabelSelectorAsSelector(&selector)
		if err != nil {
			t.Fatal(err)
		}
		got, err := labels.Parse(plain(selectorOf(certificatesv1alpha1.Placement{NamespaceSelector: &selector})))
		if err != nil || got.String() != want.String() {
			t.Errorf("%s is read as %s, %v", want, got, err)
		}
	}
}
