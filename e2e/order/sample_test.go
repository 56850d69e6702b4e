package order

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/e2e/pages"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const root = "../.."

// The file is applied as it is, with its namespace, by the command of docs.
func TestTheDocumentedSampleOfAnOrderBecomesReady(t *testing.T) {
	t.Parallel()
	c := &customer{T: t, namespace: "customer-umbrella"}
	kubectl, err := localfleet.Kubectl(t.Context(), t.Output())
	must(t, err)
	workspace, err := pages.NewWorkspace(t.TempDir(), root, kubectl, map[string][]byte{
		"management.kubeconfig": env.Fleet.Management().Kubeconfig(),
	})
	must(t, err)
	blocks, err := pages.OfClass(root, pages.CommandsOfClusterAPI)
	must(t, err)
	t.Cleanup(c.leave)
	for _, block := range blocks {
		_, err := workspace.Run(t.Context(), block)
		must(t, err)
	}
	c.awaitReady("staging")
}

// Admission asks Cluster API whether it takes the order.
func TestDocumentedOrdersAreAcceptedByClusterAPI(t *testing.T) {
	t.Parallel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "customer-acme"}}
	must(t, env.Admin.Create(t.Context(), namespace))
	t.Cleanup(func() { must(t, env.Admin.Delete(context.Background(), namespace)) })
	objects, err := pages.Objects(root)
	must(t, err)
	orders := 0
	for _, object := range objects {
		if spec, _ := object.Object["spec"].(map[string]any); spec["topology"] == nil {
			continue
		}
		orders++
		order := client.ApplyConfigurationFromUnstructured(object.Unstructured)
		if err := env.Admin.Apply(t.Context(), order, client.FieldOwner("kubectl"), client.DryRunAll); err != nil {
			t.Errorf("%s: %v", object, err)
		}
	}
	if orders == 0 {
		t.Error("no page has an order")
	}
}
