package e2e

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// The files of config/samples are applied as they are, by the commands of the pages first. ordered.yaml needs Cluster API:
// e2e/order applies it.
func TestTheSamplesAndTheDocumentedCommandsWorkWithoutInternet(t *testing.T) {
	t.Parallel()
	borrowed := clusters.take(1, 0)
	t.Cleanup(func() { clusters.giveBack(borrowed) })
	c := moveInto(t, localfleet.FleetNamespace, borrowed)
	cluster := borrowed.full[0]

	c.runDocumentedCommands(cluster)
	cache := c.applySample("addon.yaml")
	podinfo := c.applySample("chart.yaml")
	c.awaitReady(cache)
	c.awaitReady(podinfo)
	if chart := podinfo.Status.Chart; chart == nil || chart.Version != "6.0.0" {
		t.Errorf("the chart is not the one of the mirror, but %+v", chart)
	}
	deployment := &appsv1.Deployment{}
	must(t, c.workload(cluster).Get(t.Context(), client.ObjectKey{Namespace: "podinfo", Name: "podinfo"}, deployment))
	if message := deployment.Spec.Template.Spec.Containers[0].Env[0].Value; deployment.Status.ReadyReplicas != 2 || message != "Hello from "+cluster {
		t.Errorf("%d pods are ready, and say %q: the values did not arrive", deployment.Status.ReadyReplicas, message)
	}

	// The others lead to no cluster and to no storage before they are edited, or need the internet, so they are only checked.
	for _, file := range []string{"tenantcluster.yaml", "velero.yaml", "backup.yaml"} {
		objects, err := manifests.Load("../config/samples/" + file)
		must(t, err)
		for _, object := range objects {
			must(t, env.Admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl"), client.DryRunAll))
		}
	}
}

// applySample applies a file with one add-on in it.
func (c *customer) applySample(file string) *addonsv1alpha1.SaaSAddon {
	c.Helper()
	objects, err := manifests.Load("../config/samples/" + file)
	must(c, err)
	must(c, manifests.Apply(c.Context(), env.Fleet.Management().Config(), objects))
	return &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: objects[0].GetNamespace(), Name: objects[0].GetName()}}
}
