package localfleet_test

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

func testInstallIntoManagement(t *testing.T, fleet *localfleet.Fleet) {
	client, err := dynamic.NewForConfig(fleet.Management().Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("manifests in any order, twice", func(t *testing.T) {
		for range 2 {
			objects, err := manifests.Load("testdata")
			if err != nil {
				t.Fatal(err)
			}
			if err := manifests.Apply(t.Context(), fleet.Management().Config(), objects); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("the workload clusters' registration", func(t *testing.T) {
		testRegister(t, fleet, client)
	})
	t.Run("Cluster API's definitions", func(t *testing.T) {
		if err := fleet.InstallClusterAPI(t.Context()); err != nil {
			t.Fatal(err)
		}
		clusters := schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
		if _, err := client.Resource(clusters).List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func testRegister(t *testing.T, fleet *localfleet.Fleet, client dynamic.Interface) {
	if err := fleet.Register(t.Context(), fleet.Clusters()...); err != nil {
		t.Fatal(err)
	}
	resource := schema.GroupVersionResource{Group: "tenancy.daytwo.dev", Version: "v1alpha1", Resource: "tenantclusters"}
	registered, err := client.Resource(resource).Namespace(localfleet.FleetNamespace).
		Get(t.Context(), "workload-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secretName, _, _ := unstructured.NestedString(registered.Object, "spec", "kubeconfigRef", "name")
	secret, err := clientOf(t, fleet.Management()).CoreV1().Secrets(localfleet.FleetNamespace).
		Get(t.Context(), secretName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(secret.Data["value"], clusterOf(t, fleet, "workload-1").Kubeconfig()) {
		t.Errorf("Secret %s does not hold the cluster's kubeconfig", secretName)
	}
}
