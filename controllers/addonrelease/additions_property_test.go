package addonrelease

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

// harmlessAdditions are merge patches, with a word to fill in, that a program may make to an object of a kind.
func harmlessAdditions(kind string) []string {
	additions := []string{
		`{"metadata":{"finalizers":["%s.example.com/a"]}}`,
	}
	if kind != "ClusterRole" {
		additions = append(additions, `{"metadata":{"labels":{"example.com/%s":"a"}}}`, `{"metadata":{"annotations":{"%s":"a","example.com/%[1]s":"b"}}}`)
	}
	switch kind {
	case "Secret":
		additions = append(additions, `{"data":{"%s":"YQ=="}}`)
	case "ConfigMap":
		additions = append(additions, `{"data":{"%s":"a"}}`, `{"binaryData":{"%s":"YQ=="}}`)
	case "Location":
		additions = append(additions, `{"status":{"%s":"a"}}`)
	}
	return additions
}

// additionsBy has field managers add something at random, and returns the objects as they are then.
func (a *addon) additionsBy(random *rand.Rand, count int, manager func() string) []*unstructured.Unstructured {
	a.t.Helper()
	list := []*unstructured.Unstructured{
		a.part("", "Secret", "generated"), a.part("", "ConfigMap", "settings"), a.part("apps", "Deployment", "web"),
		a.part(a.name+".example.com", "Location", "bucket"), a.part(rbac, "ClusterRole", a.name+"-part"),
		a.part(admission, "ValidatingWebhookConfiguration", a.name),
	}
	for i := range count {
		object := list[random.IntN(len(list))]
		additions := harmlessAdditions(object.GetKind())
		patch := fmt.Sprintf(additions[random.IntN(len(additions))], fmt.Sprintf("x%d", i))
		a.edit(object, manager(), types.MergePatchType, patch)
	}
	for _, object := range list {
		if err := a.fetch(object); err != nil {
			a.t.Fatal(err)
		}
	}
	return list
}

// otherManagers are the field managers of an object that are neither Daytwo's nor a subresource's.
func otherManagers(object *unstructured.Unstructured) []string {
	var names []string
	for _, entry := range managedfields.DefaultRules(installation).Others(object.GetManagedFields()) {
		names = append(names, entry.Manager)
	}
	return names
}

func TestNothingIsWrittenWhateverProgramsAdd(t *testing.T) {
	t.Parallel()
	a := newChartParts(t)
	random := rand.New(rand.NewPCG(1, 2))
	list := a.additionsBy(random, 20, func() string { return fmt.Sprintf("operator-%d", random.IntN(5)) })
	t.Cleanup(func() { a.dropFinalizers("operator-0", list...) })
	want := map[string]int32{"clusterrole-aggregation-controller": 1}
	for _, object := range list {
		for _, manager := range slices.Compact(slices.Sorted(slices.Values(otherManagers(object)))) {
			want[manager]++
		}
	}
	a.waitTolerated(want)
	a.expectUntouched(list...)
	if drift := a.get().Status.Drift; drift.Count != 0 {
		t.Errorf("taken back: %+v", drift.Corrections)
	}
}

func TestWhateverPeopleAddIsTakenBack(t *testing.T) {
	t.Parallel()
	a := newChartParts(t)
	random := rand.New(rand.NewPCG(3, 4))
	tools := []string{"kubectl-edit", "helm", "k9s", "Mozilla", "Terraform", "curl", "argocd-controller", managedfields.ManagerOf(installation)}
	list := a.additionsBy(random, 20, func() string { return tools[random.IntN(len(tools))] })
	for _, object := range list {
		eventually(t, fmt.Sprintf("nobody else owns anything of %s %s", object.GetKind(), object.GetName()), func() (bool, string) {
			err := a.fetch(object)
			left := otherManagers(object)
			return err == nil && len(left) == 0 && len(object.GetFinalizers()) == 0, fmt.Sprint(err, left, object.GetFinalizers())
		})
	}
}
