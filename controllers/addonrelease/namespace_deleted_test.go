package addonrelease

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

func TestANamespaceThatAPersonDeletedIsFilledAgainAsSoonAsItIsGone(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "settings"))
	a.waitReady()
	before := a.namespaceObject()
	if err := a.fetch(before); err != nil {
		t.Fatal(err)
	}
	// What holds the namespace keeps it terminating until the manager has been refused.
	holder := a.configMap("holder")
	holder.Finalizers = []string{"example.com/holds"}
	a.create(holder, "kubectl-create")
	if err := shared.workload.Delete(t.Context(), a.namespaceObject()); err != nil {
		t.Fatal(err)
	}
	release := a.waitFor(metav1alpha1.ConditionApplied, metav1.ConditionFalse, metav1alpha1.ReasonWaiting)
	if message := messageOf(release); !strings.Contains(message, "until Namespace "+a.namespace+" is gone") {
		t.Errorf("the message does not say what is waited for: %s", message)
	}
	a.edit(holder, "kubectl-edit", types.MergePatchType, `{"metadata":{"finalizers":null}}`)
	eventually(t, "everything is there again", func() (bool, string) {
		namespace, settings := a.namespaceObject(), a.configMap("settings")
		err := errorsOf(a.fetch(namespace), a.fetch(settings))
		return err == nil && namespace.UID != before.UID && settings.Data["key"] == "value", fmt.Sprint(err, describeConditions(a.get()))
	})
	a.waitReady()
}

func TestANamespaceOfOthersThatIsGoneIsMadeAgain(t *testing.T) {
	cache := namespaceRef("cache")
	o := scene(func(o *observation) { o.Inventory[cache.Key()] = apply.Entry{Ref: cache, UID: "theirs", Adopted: true} })
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "cache")
	failed := apply.Written{Write: apply.Write{Object: declared(configMapRef("a"), "1"), Purpose: apply.PurposeCorrect}, Err: gone}
	o.Inventory.Take(apply.Result{Written: []apply.Written{failed}})
	o.Desired = append(o.Desired, declared(cache, "1"))
	if got, want := summarize(newPlan(o)), "foundations create cache; "; got != want {
		t.Errorf("the plan is %q, want %q", got, want)
	}
	elsewhere := apierrors.NewNotFound(corev1.Resource("configmaps"), "cache")
	o.Inventory[cache.Key()] = apply.Entry{Ref: cache, UID: "theirs", Adopted: true}
	failed.Err = elsewhere
	if o.Inventory.Take(apply.Result{Written: []apply.Written{failed}}); o.Inventory[cache.Key()].Intended() {
		t.Error("the namespace is taken for gone because something else is")
	}
}
