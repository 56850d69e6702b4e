package addonrelease

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/apis/common"
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
	definition := define(t, fmt.Sprintf(gauges, "held"))
	awaitServed(t, schema.GroupVersionKind{Group: "held.test", Version: "v2", Kind: "Gauge"})
	a := newAddon(t, fmt.Sprintf(gaugeAndSettings, "held"))
	a.waitReady()

	patchDefinition(t, definition, unservedConversion)
	mend := func() { patchDefinition(t, definition, `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`) }
	defer func() {
		if t.Failed() {
			mend()
		}
	}()
	a.waitFor(common.ConditionReady, metav1.ConditionUnknown, addonsv1alpha1.ReasonKindUnavailable)
	eventually(t, "Ready tells the kind and the cluster's words", func() (bool, string) {
		message := messageOf(a.get())
		return strings.Contains(message, "Gauge.held.test") && strings.Contains(message, "conversion webhook"), message
	})

	settings := a.configMap("settings")
	settings.Data = map[string]string{"key": "changed"}
	if err := shared.workload.Update(t.Context(), settings, client.FieldOwner("kubectl-edit")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "drift of the other kind is corrected", func() (bool, string) {
		found := &corev1.ConfigMap{}
		err := shared.workload.Get(t.Context(), client.ObjectKeyFromObject(settings), found)
		return found.Data["key"] == "value", fmt.Sprint(found.Data, err)
	})
	a.apply(fmt.Sprintf(gaugeAndSettings, "held") + "  more: settings\n")
	eventually(t, "a new revision reaches the other kind", func() (bool, string) {
		found := &corev1.ConfigMap{}
		err := shared.workload.Get(t.Context(), client.ObjectKeyFromObject(settings), found)
		return found.Data["more"] == "settings", fmt.Sprint(found.Data, err)
	})

	mend()
	a.waitReady()
}
