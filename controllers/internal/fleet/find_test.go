package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/resources"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// put creates an object of the first cluster, given as YAML, until the test ends.
func (r *rig) put(resource schema.GroupVersionResource, namespace, text string) dynamic.ResourceInterface {
	r.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		r.Fatal(err)
	}
	var client dynamic.ResourceInterface = dynamic.NewForConfigOrDie(shared.first.Config()).Resource(resource)
	if namespace != "" {
		client = dynamic.NewForConfigOrDie(shared.first.Config()).Resource(resource).Namespace(namespace)
	}
	r.eventually("there is "+object.GetName(), func() bool { // A kind that is just established is served a moment later.
		_, err := client.Create(r.Context(), object, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err)
	})
	r.Cleanup(func() {
		if err := client.Delete(context.Background(), object.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			r.Error(err)
		}
	})
	return client
}

func TestWhatIsNotThereIsFoundOut(t *testing.T) {
	r := newRig(t, timeouts())
	cluster := r.connected(shared.access(hostOf(t, shared.first)))
	r.put(definitions, "", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.found.example.com}
spec:
  group: found.example.com
  scope: Namespaced
  names: {kind: Gear, plural: gears, singular: gear, listKind: GearList}
  versions: [{name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)
	r.put(schema.GroupVersionResource{Group: "found.example.com", Version: "v2", Resource: "gears"}, "default",
		"{apiVersion: found.example.com/v2, kind: Gear, metadata: {name: one}}")
	ref := func(group, version, kind, name string) objects.Ref {
		return objects.Ref{GroupVersionKind: schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, Namespace: "default", Name: name}
	}
	rows := map[string]struct {
		ref   objects.Ref
		found bool
	}{
		"it is there":                    {ref("", "v1", "Service", "kubernetes"), true},
		"it is not":                      {ref("", "v1", "ConfigMap", "missing"), false},
		"it is there in another version": {ref("found.example.com", "v1", "Gear", "one"), true},
		"it is not there in any version": {ref("found.example.com", "v1", "Gear", "two"), false},
		"the group has no such kind":     {ref("found.example.com", "v2", "Wheel", "one"), false},
		"there is no such group":         {ref("nowhere.example.com", "v1", "Wheel", "one"), false},
	}
	for name, row := range rows {
		r.eventually(name, func() bool {
			object, err := cluster.Find(t.Context(), row.ref)
			return err == nil && (object != nil) == row.found
		})
	}
	served, ok, err := cluster.ServedRef(t.Context(), ref("found.example.com", "v1", "Gear", "one"))
	if err != nil || !ok || served.Version != "v2" {
		t.Errorf("it is served as %v, %t, %v", served, ok, err)
	}
}

// The API server of a group is registered, and not there: what it would serve nobody can know.
func TestNothingIsKnownToBeEmptyWhileAnAPIGroupFails(t *testing.T) {
	r := newRig(t, timeouts())
	cluster := r.connected(shared.access(hostOf(t, shared.first)))
	namespace, err := r.admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "empty-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	isEmpty := func() bool {
		found, err := cluster.BlockerOf(t.Context(), namespace.Name)
		return err == nil && found == Blocker{}
	}
	r.eventually("the namespace is empty", isEmpty)
	service := r.put(apiServices, "", `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.broken.example.com}
spec:
  group: broken.example.com
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {namespace: default, name: nowhere}
`)
	var undiscovered *resources.UndiscoveredError
	r.eventually("the group fails", func() bool {
		_, err := cluster.BlockerOf(t.Context(), namespace.Name)
		return errors.As(err, &undiscovered)
	})
	if said := undiscovered.Error(); !strings.Contains(said, "API group broken.example.com/v1 does not answer") || !strings.Contains(said, "APIService v1.broken.example.com") {
		t.Errorf("it says %s", said)
	}
	if found, err := cluster.InstanceOf(t.Context(), "gears.broken.example.com"); !errors.As(err, &undiscovered) {
		t.Errorf("a definition of the group has no instances: %v, %v", found, err)
	}
	if found, err := cluster.InstanceOf(t.Context(), "gears.nowhere.example.com"); err != nil || found != (Blocker{}) {
		t.Errorf("a definition of another group: %v, %v", found, err)
	}
	gear := objects.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "broken.example.com", Version: "v1", Kind: "Gear"}, Namespace: "default", Name: "one"}
	if object, err := cluster.Find(t.Context(), gear); err == nil {
		t.Errorf("an object of the group counts as gone: %v", object)
	}
	// Something that stays is the better reason.
	if _, err := r.admin.CoreV1().ConfigMaps(namespace.Name).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if found, err := cluster.BlockerOf(t.Context(), namespace.Name); err != nil || found.Name != "theirs" {
		t.Errorf("it holds %v, %v", found, err)
	}
	if err := r.admin.CoreV1().ConfigMaps(namespace.Name).Delete(t.Context(), "theirs", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := service.Delete(t.Context(), "v1.broken.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.eventually("the namespace is empty again", isEmpty)
}
