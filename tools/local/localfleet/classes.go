package localfleet

import (
	"context"
	"embed"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// ClassNamespace holds the classes that clusters can be ordered in, "small" and
// "standard", from any namespace.
const ClassNamespace = "daytwo-classes"

//go:embed clusterapi/classes/*.yaml
var classes embed.FS

var classResource = schema.GroupVersionResource{
	Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusterclasses",
}

// applyClasses makes the classes and waits until Cluster API knows their
// variables: until then its webhooks let any value pass.
func (f *Fleet) applyClasses(ctx context.Context) error {
	objects, err := parseAll(classes)
	if err != nil {
		return err
	}
	if err := manifests.Apply(ctx, f.Management().Config(), objects); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(f.Management().Config())
	if err != nil {
		return err
	}
	manager, running := f.processes.Lookup(clusterAPIName)
	if !running {
		return errors.New("the manager of Cluster API has ended")
	}
	return waitReady(ctx, func(ctx context.Context) error { return classesReady(ctx, client) }, manager)
}

func classesReady(ctx context.Context, client dynamic.Interface) error {
	list, err := client.Resource(classResource).Namespace(ClassNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, class := range list.Items {
		if !variablesReady(class) {
			return fmt.Errorf("the variables of class %s are not known yet", class.GetName())
		}
	}
	return nil
}

func variablesReady(class unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(class.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(class.Object, "status", "conditions")
	for _, condition := range conditions {
		fields, ok := condition.(map[string]any)
		if ok && fields["type"] == "VariablesReady" {
			return fields["status"] == "True" && observed == class.GetGeneration()
		}
	}
	return false
}
