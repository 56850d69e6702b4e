package addonrelease

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// gauges is a kind that is stored as v1 and served as v2, so that a conversion is needed to list it as v2.
const gauges = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gauges.%[1]s.test}
spec:
  group: %[1]s.test
  scope: Namespaced
  names: {kind: Gauge, plural: gauges}
  versions:
  - {name: v1, served: true, storage: true, schema: &any {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: false, schema: *any}
`

const gaugeAndSettings = `
apiVersion: %s.test/v2
kind: Gauge
metadata: {name: pressure}
spec: {unit: bar}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  key: value
`

// unservedConversion leads to a port at which no server listens.
const unservedConversion = `{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],` +
	`"clientConfig":{"url":"https://127.0.0.1:1/convert"}}}}}`

// define makes a kind of the test's own, which goes with the test.
func define(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &definition.Object); err != nil {
		t.Fatal(err)
	}
	if err := shared.workload.Create(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.workload.Delete(context.Background(), definition); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the definition is established", func() (bool, string) {
		err := shared.workload.Get(t.Context(), client.ObjectKeyFromObject(definition), definition)
		conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
		return strings.Contains(fmt.Sprint(conditions), "status:True type:Established"), fmt.Sprint(conditions, err)
	})
	return definition
}

// awaitServed waits until the cluster serves a kind, which may be a moment after its definition is established.
func awaitServed(t *testing.T, kind schema.GroupVersionKind) {
	t.Helper()
	eventually(t, "the cluster serves "+kind.String(), func() (bool, string) {
		cluster, connected := shared.connections.Get(types.NamespacedName{Namespace: "default", Name: tenantName})
		if !connected {
			return false, "it is not connected"
		}
		_, err := cluster.Resource(t.Context(), kind)
		return err == nil, fmt.Sprint(err)
	})
}

func patchDefinition(t *testing.T, definition *unstructured.Unstructured, patch string) {
	t.Helper()
	if err := shared.workload.Patch(t.Context(), definition, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// It does not run beside other tests: no namespace of the cluster can be removed while a kind cannot be listed.
func TestKindThatCannotBeListedHoldsNothingElseUp(t *testing.T) {
	// With a status, what no watch has shown has to be read.
	definition := define(t, strings.ReplaceAll(fmt.Sprintf(gauges, "held"), "served: true", "served: true, subresources: {status: {}}"))
	kind := schema.GroupVersionKind{Group: "held.test", Version: "v2", Kind: "Gauge"}
	awaitServed(t, kind)
	a := newAddon(t, fmt.Sprintf(gaugeAndSettings, "held"))
	a.waitReady()

	patchDefinition(t, definition, unservedConversion)
	mend := func() { patchDefinition(t, definition, `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`) }
	defer func() {
		if t.Failed() {
			mend()
		}
	}()
	awaitUnlistable(t, kind)
	t.Run("SinceItWasListed", func(t *testing.T) { a.in(t).expectOthersKept("held", "one") })
	t.Run("SinceTheManagerStarted", func(t *testing.T) {
		shared.restart(t, a, func() {})
		a.in(t).expectOthersKept("held", "two")
	})
	mend()
	a.waitReady()
}

// in is the add-on in a part of the test.
func (a *addon) in(t *testing.T) *addon {
	part := *a
	part.t = t
	return &part
}

// expectOthersKept waits until the kind is told of, and changes everything else, with what is new in the revision.
func (a *addon) expectOthersKept(group, news string) {
	a.t.Helper()
	a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionUnknown, metav1alpha1.ReasonKindUnavailable)
	eventually(a.t, "Ready tells the kind and the cluster's words", func() (bool, string) {
		message := messageOf(a.get())
		return strings.Contains(message, "Gauge."+group+".test") && strings.Contains(message, "conversion webhook"), message
	})

	settings := a.configMap("settings")
	a.edit(settings, "kubectl-edit", types.MergePatchType, `{"data":{"key":"changed"}}`)
	eventually(a.t, "drift of the other kind is corrected", func() (bool, string) {
		err := a.fetch(settings)
		return settings.Data["key"] == "value", fmt.Sprint(settings.Data, err)
	})
	a.apply(fmt.Sprintf(gaugeAndSettings, group) + "  news: " + news + "\n")
	eventually(a.t, "a new revision reaches the other kind", func() (bool, string) {
		err := a.fetch(settings)
		return settings.Data["news"] == news, fmt.Sprint(settings.Data, err)
	})
	a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionUnknown, metav1alpha1.ReasonKindUnavailable)
}

// restart has the manager know nothing of the cluster, and of a release nothing that is not in its status. Meanwhile
// happens while the cluster is not connected.
func (w *env) restart(t *testing.T, a *addon, meanwhile func()) {
	t.Helper()
	w.connections.Forget(types.NamespacedName{Namespace: "default", Name: tenantName})
	w.reconciler.Room.Forget(types.NamespacedName{Namespace: "default", Name: a.name})
	meanwhile()
	workload, err := w.fleet.Cluster("workload-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.connect(t.Context(), workload); err != nil {
		t.Fatal(err)
	}
}

// awaitUnlistable waits until the cluster cannot list a kind.
func awaitUnlistable(t *testing.T, kind schema.GroupVersionKind) {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	eventually(t, "the kind cannot be listed", func() (bool, string) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return shared.workload.List(ctx, list) != nil, "it can"
	})
}
