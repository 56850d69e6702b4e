package addonrelease

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// operatorAddon brings a kind, objects of it that an operator has to finalize, and what the operator consists of.
// %[1]s is the group of the kind.
const operatorAddon = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: {spec: {type: object, properties: {size: {type: integer}}}}
---
apiVersion: %[1]s/v1
kind: Widget
metadata: {name: one, finalizers: [%[1]s/cleanup]}
spec: {size: 3}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec:
  replicas: 0
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec: {serviceAccountName: operator, containers: [{name: operator, image: operator}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator}
`

// widgetWebhook refuses deletions as long as nobody answers at its address, which nobody does.
const widgetWebhook = `
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s}
webhooks:
  - name: widgets.%[1]s
    failurePolicy: Fail
    sideEffects: None
    timeoutSeconds: 1
    admissionReviewVersions: [v1]
    clientConfig: {url: "https://127.0.0.1:1/"}
    rules: [{apiGroups: [%[1]s], apiVersions: ["*"], operations: [DELETE], resources: [widgets]}]
`

func (a *addon) delete() {
	a.t.Helper()
	if err := shared.management.Delete(a.t.Context(), a.get()); err != nil {
		a.t.Fatal(err)
	}
}

// says waits until Ready's message contains a text.
func (a *addon) says(text string) {
	a.t.Helper()
	eventually(a.t, "Ready says "+text, func() (bool, string) {
		message := messageOf(a.get())
		return strings.Contains(message, text), message
	})
}

func (a *addon) waitReleased() {
	a.t.Helper()
	eventually(a.t, "the release is gone", func() (bool, string) {
		release := a.get()
		return release.UID == "", describeConditions(release)
	})
}

func (a *addon) widget(group string) *unstructured.Unstructured {
	widget := &unstructured.Unstructured{}
	widget.SetAPIVersion(group + "/v1")
	widget.SetKind("Widget")
	widget.SetNamespace(a.namespace)
	widget.SetName("one")
	return widget
}

// operatorParts are what must stay as long as custom resources wait for their operator.
func (a *addon) operatorParts(group string) []client.Object {
	parts := []*metav1.PartialObjectMetadata{
		{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}},
		{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}},
		{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}},
	}
	for _, part := range parts[:2] {
		part.Namespace, part.Name = a.namespace, "operator"
	}
	parts[2].Name = "widgets." + group
	return []client.Object{parts[0], parts[1], parts[2]}
}

// finalize plays the operator.
func (a *addon) finalize(widget *unstructured.Unstructured) {
	a.t.Helper()
	widget.SetFinalizers(nil)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := shared.workload.Patch(a.t.Context(), widget, patch, client.FieldOwner("operator")); err != nil {
		a.t.Fatal(err)
	}
}

func TestCustomResourcesGoBeforeTheOperatorThatFinalizesThem(t *testing.T) {
	t.Parallel()
	const group = "finalized.example.com"
	a := newAddon(t, fmt.Sprintf(operatorAddon, group))
	a.waitReady()
	widget := a.widget(group)
	a.delete()
	a.says("waiting for Widget " + a.namespace + "/one to be gone: finalizer " + group + "/cleanup")
	for _, part := range a.operatorParts(group) {
		if err := a.fetch(part); err != nil || part.GetDeletionTimestamp() != nil {
			t.Errorf("%s goes before the Widget that it has to finalize: %v", part.GetName(), err)
		}
	}
	a.finalize(widget)
	a.waitReleased()
	for _, part := range append(a.operatorParts(group), widget) {
		a.waitGone(part)
	}
	a.waitGone(a.namespaceObject())
}

// What leaves the source goes in the same order as what ends.
func TestPruningGoesInOrderToo(t *testing.T) {
	t.Parallel()
	const group = "pruned.example.com"
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "keep")+"---"+fmt.Sprintf(operatorAddon, group))
	a.waitReady()
	widget := a.widget(group)
	a.apply(fmt.Sprintf(oneConfigMap, "keep"))
	a.says("waiting for Widget " + a.namespace + "/one to be gone: finalizer " + group + "/cleanup")
	for _, part := range a.operatorParts(group) {
		if err := a.fetch(part); err != nil || part.GetDeletionTimestamp() != nil {
			t.Errorf("%s goes before the Widget that it has to finalize: %v", part.GetName(), err)
		}
	}
	a.finalize(widget)
	if release := a.waitReady(); len(release.Status.Inventory) != 2 {
		t.Errorf("inventory is %v, want the ConfigMap and its namespace", release.Status.Inventory)
	}
}

// The server of the add-on's own webhook is gone, or never was. Nobody else's requests may depend on it for ever, and
// the add-on has to end.
func TestAnAddonEndsThoughItsOwnWebhookDoesNotAnswer(t *testing.T) {
	t.Parallel()
	const group = "guarded.example.com"
	a := newAddon(t, fmt.Sprintf(operatorAddon+widgetWebhook, group))
	a.waitReady()
	a.delete()
	a.waitGone(&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: group}})
	eventually(t, "the Widget was deleted", func() (bool, string) {
		widget := a.widget(group)
		err := a.fetch(widget)
		if err == nil && widget.GetDeletionTimestamp() != nil && len(widget.GetFinalizers()) > 0 {
			a.finalize(widget)
		}
		return client.IgnoreNotFound(err) == nil && err != nil, describeConditions(a.get())
	})
	a.waitReleased()
}

func TestAnAddonEndsWithoutAHookThatCannotRun(t *testing.T) {
	t.Parallel()
	a := newChart(t, "hooks", `{"removal": {"fail": true}}`)
	a.waitReady()
	a.delete()
	a.says(`the annotation ` + metav1alpha1.AnnotationSkipDeleteHooks + `: "true" on this AddonRelease, or deletionPolicy: Orphan`)
	if !a.exists(&appsv1.Deployment{}, "shop-hooks") {
		t.Error("the chart is removed though its pre-delete hook failed")
	}
	a.change(func(release *addonsv1alpha1.AddonRelease) {
		release.Annotations = map[string]string{metav1alpha1.AnnotationSkipDeleteHooks: "true"}
	})
	a.waitReleased()
	if a.exists(&batchv1.Job{}, "shop-hooks-farewell") {
		t.Error("the post-delete hook ran")
	}
	if left := a.records(); left != "" {
		t.Errorf("records are left: %s", left)
	}
}
