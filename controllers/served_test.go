package controllers

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

func TestServedKindsAreThoseThatAConnectedClusterServesNow(t *testing.T) {
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	if _, err := new(ServedKinds).Serves(t.Context(), types.NamespacedName{Namespace: "default", Name: "prod"}, configMap); err == nil {
		t.Error("before there are controllers, something is known of a cluster")
	}
	w := newCrashEnv(t)
	prod := types.NamespacedName{Namespace: "default", Name: "prod"}
	serves := func(kind schema.GroupVersionKind, want bool) {
		t.Helper()
		expect.Eventually(t, fmt.Sprintf("%s is served: %t", kind, want), func(ctx context.Context) error {
			served, err := w.served.Serves(ctx, prod, kind)
			if err == nil && served != want {
				err = errors.New("it is not so")
			}
			return err
		})
	}
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	serves(configMap, true)
	serves(widget, false)
	if _, err := w.served.Serves(t.Context(), types.NamespacedName{Namespace: "default", Name: "other"}, configMap); err == nil {
		t.Error("something is known of a cluster that is none")
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(widgetDefinition), &definition.Object); err != nil {
		t.Fatal(err)
	}
	if err := w.workload.Create(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	serves(widget, true)
}

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`
