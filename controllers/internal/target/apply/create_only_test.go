package apply

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

func newWriter(t *testing.T) *Writer {
	t.Helper()
	return &Writer{
		Cluster: shared.Cluster(t), Tracker: tracker.New(func(tracker.Owner, bool) {}), Rules: managedfields.DefaultRules(installation),
		Installation: installation, Owns: func(metav1.Object) bool { return false }, Now: time.Now,
	}
}

// configMap of a name, as it is declared.
func configMap(name, color string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": name}, "data": map[string]any{"color": color},
	}}
}

// creating is a write of a ConfigMap that is not known to be there. It goes with the test.
func creating(t *testing.T, name, color string, adoption Adoption) Write {
	t.Helper()
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(shared.Admin.Delete(context.Background(), configMap(name, color))); err != nil {
			t.Error(err)
		}
	})
	prepared, err := Prepare([]Declaration{{Unstructured: configMap(name, color), Adoption: adoption}}, installation, "")
	if err != nil {
		t.Fatal(err)
	}
	return Write{Object: prepared[0], Purpose: PurposeCreate}
}

func configMapNow(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	found := &corev1.ConfigMap{}
	if err := shared.Admin.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, found); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAnObjectOfSomebodyElseThatIsNotAdoptedIsUntouched(t *testing.T) {
	labelled := func(labels map[string]string) func(*unstructured.Unstructured) {
		return func(object *unstructured.Unstructured) { object.SetLabels(labels) }
	}
	create := func(t *testing.T, object *unstructured.Unstructured) error {
		return shared.Admin.Create(t.Context(), object, client.FieldOwner("kubectl-create"))
	}
	apply := func(t *testing.T, object *unstructured.Unstructured) error {
		return shared.Admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("somebody"))
	}
	for name, test := range map[string]struct {
		make   func(*testing.T, *unstructured.Unstructured) error
		color  string
		change func(*unstructured.Unstructured)
		owner  string
	}{
		"created":                       {make: create, color: "red", owner: "somebody who used kubectl-create"},
		"created with the same content": {make: create, color: "blue", owner: "somebody who used kubectl-create"},
		"applied":                       {make: apply, color: "red", owner: "somebody who used somebody"},
		"applied with the same content": {make: apply, color: "blue", owner: "somebody who used somebody"},
		"made by another installation":  {make: apply, color: "red", change: labelled(map[string]string{metav1alpha1.LabelManagedBy: "another"}), owner: "another"},
		"made by Helm":                  {make: create, color: "red", change: labelled(map[string]string{objects.LabelTool: objects.ToolHelm}), owner: "Helm"},
		"made by hand with our label":   {make: create, color: "red", change: labelled(map[string]string{metav1alpha1.LabelManagedBy: installation}), owner: "somebody who used kubectl-create"},
		"made by nobody who left a name": {make: func(t *testing.T, object *unstructured.Unstructured) error {
			return shared.Admin.Create(t.Context(), object)
		}, color: "red", owner: "somebody"},
	} {
		t.Run(name, func(t *testing.T) {
			object := configMap("exclusive-"+strings.ReplaceAll(strings.ToLower(name), " ", "-"), test.color)
			if test.change != nil {
				test.change(object)
			}
			key := object.GetName()
			if err := test.make(t, object); err != nil {
				t.Fatal(err)
			}
			before := configMapNow(t, key)
			for range 2 { // Another try tells the same.
				done := newWriter(t).Do(t.Context(), creating(t, key, "blue", AdoptNothing))
				if done.Err != nil || done.Result != nil || !strings.Contains(done.Owner, test.owner) {
					t.Errorf("it is left to %q, with %v and %v", done.Owner, done.Result, done.Err)
				}
			}
			if after := configMapNow(t, key); !reflect.DeepEqual(before, after) {
				t.Errorf("it was\n%+v\nand is\n%+v", before, after)
			}
		})
	}
}

func TestAnObjectThatAdoptsNothingIsMadeWhereThereIsNone(t *testing.T) {
	done := newWriter(t).Do(t.Context(), creating(t, "exclusive-new", "blue", AdoptNothing))
	if done.Err != nil || done.Result == nil || done.Owner != "" || done.adopted || done.Fingerprint == "" {
		t.Fatalf("it is left to %q, adopted %v, %v", done.Owner, done.adopted, done.Err)
	}
	found := configMapNow(t, "exclusive-new")
	if found.Data["color"] != "blue" || found.Labels[metav1alpha1.LabelManagedBy] != installation || found.UID != done.UID {
		t.Errorf("it is %+v", found)
	}
}

// A manager made the object and died before it could record that; somebody edited it meanwhile.
func TestAnObjectThatAdoptsNothingIsTakenUpIfItsRecordWasLost(t *testing.T) {
	first := newWriter(t).Do(t.Context(), creating(t, "exclusive-lost", "blue", AdoptNothing))
	if first.Err != nil {
		t.Fatal(first.Err)
	}
	edited := configMapNow(t, "exclusive-lost")
	edited.Data["color"] = "red"
	if err := shared.Admin.Update(t.Context(), edited, client.FieldOwner("kubectl-edit")); err != nil {
		t.Fatal(err)
	}
	second := newWriter(t).Do(t.Context(), creating(t, "exclusive-lost", "blue", AdoptNothing))
	if second.Err != nil || second.Owner != "" || second.Result == nil || second.Result.UID != first.Result.UID {
		t.Fatalf("it is left to %q, with %v and %v", second.Owner, second.Result, second.Err)
	}
	if found := configMapNow(t, "exclusive-lost"); found.Data["color"] != "blue" {
		t.Errorf("it has %v", found.Data)
	}
	// It is the same as before for removals, too: what was there before anybody made it would stay.
	if second.adopted {
		t.Error("it counts as adopted")
	}
}

func TestAnUnclaimedObjectIsTakenOver(t *testing.T) {
	if err := shared.Admin.Create(t.Context(), configMap("shared-one", "red"), client.FieldOwner("kubectl-create")); err != nil {
		t.Fatal(err)
	}
	if refused := newWriter(t).Do(t.Context(), creating(t, "shared-one", "blue", AdoptNothing)); refused.Owner == "" {
		t.Fatal("it is taken over though nothing is to be")
	}
	done := newWriter(t).Do(t.Context(), creating(t, "shared-one", "blue", AdoptUnclaimed))
	if done.Err != nil || done.Owner != "" || !done.adopted {
		t.Errorf("it is left to %q, adopted %v, %v", done.Owner, done.adopted, done.Err)
	}
	if found := configMapNow(t, "shared-one"); found.Data["color"] != "blue" {
		t.Errorf("it has %v", found.Data)
	}
}

func TestARefusalDoesNotOutliveAChangeOfAdoption(t *testing.T) {
	for before, after := range map[Adoption]Adoption{AdoptNothing: AdoptFromTools, AdoptUnclaimed: AdoptFromTools, AdoptFromTools: AdoptNothing} {
		object := declared(objects.Ref{Name: "c"}, "1")
		object.Adoption = before
		o := Observation{Now: noon, Desired: []Object{object}, Inventory: Inventory{}}
		o.Refused = o.refusals(NewPlan(o), []Written{{Write: Write{Object: object}, Claim: objects.Claim{Owner: "somebody"}}})
		if same := NewPlan(o); len(same.Rest) != 0 || len(same.Refused) != 1 || same.Refused[0].Owner != "somebody" {
			t.Errorf("adoption %d: nothing has changed, and %d writes are planned", before, len(same.Rest))
		}
		o.Desired[0].Adoption = after
		if changed := NewPlan(o); len(changed.Rest) != 1 || len(changed.Refused) != 0 {
			t.Errorf("adoption %d and then %d: %d writes are planned", before, after, len(changed.Rest))
		}
	}
}
