package admission_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// uncounted are kinds of which there is no limit: see the sample.
var uncounted = map[string]bool{"orphanrecords.tenancy.daytwo.dev": true}

func TestTheSampleQuotaCountsEveryKind(t *testing.T) {
	direct, err := as(admin)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifests.Load("../samples/quota.yaml")
	if err != nil {
		t.Fatal(err)
	}
	existing(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: objects[0].GetNamespace()}})
	quota := &corev1.ResourceQuota{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, quota); err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if err := direct.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl")); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	definitions := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := direct.List(t.Context(), definitions); err != nil {
		t.Fatal(err)
	}
	counted := map[string]bool{}
	for resource := range quota.Spec.Hard {
		if name, is := strings.CutPrefix(string(resource), "count/"); is && strings.HasSuffix(name, ".daytwo.dev") {
			counted[name] = true
		}
	}
	for _, definition := range definitions.Items {
		if !strings.HasSuffix(definition.Spec.Group, ".daytwo.dev") || definition.Spec.Names.Plural == "laters" {
			continue
		}
		if !counted[definition.Name] && !uncounted[definition.Name] {
			t.Errorf("the quota does not count %s", definition.Name)
		}
		delete(counted, definition.Name)
	}
	for name := range counted {
		t.Errorf("the quota counts %s, which is no kind", name)
	}
}
