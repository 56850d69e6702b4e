package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
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

	c.handsOutTheSampleAuthority(cluster)

	// The others lead to no cluster and to no storage before they are edited, or need the internet, so they are only checked.
	for _, file := range []string{"tenantcluster.yaml", "quota.yaml", "velero.yaml", "backup.yaml"} {
		objects, err := manifests.Load("../config/samples/" + file)
		must(t, err)
		for _, object := range objects {
			must(t, env.Admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl"), client.DryRunAll))
		}
	}
}

// handsOutTheSampleAuthority applies certificates.yaml, whose authority comes into namespaces that are labelled later too.
func (c *customer) handsOutTheSampleAuthority(cluster string) {
	c.Helper()
	objects := c.applyFile("certificates.yaml")
	var source corev1.ConfigMap
	must(c, runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, &source))
	bundle := &certificatesv1alpha1.CertificateBundle{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: objects[1].GetName()}}
	expect.Eventually(c, "the sample bundle is ready", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(bundle), bundle); err != nil {
			return err
		}
		return expect.Condition(bundle.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})

	target, workload := bundle.Spec.Trust.Targets[0], c.workload(cluster)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "trusting-", Labels: target.NamespaceSelector.MatchLabels}}
	must(c, workload.Create(c.Context(), namespace))
	handedOut := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: target.Name}}
	expect.Eventually(c, "the authority is in the namespace", func(ctx context.Context) error {
		if err := workload.Get(ctx, client.ObjectKeyFromObject(handedOut), handedOut); err != nil {
			return err
		}
		if got, want := strings.TrimSpace(handedOut.Data[target.Key]), strings.TrimSpace(source.Data["ca.crt"]); got != want {
			return fmt.Errorf("it is another one: %s", got)
		}
		return nil
	})

	must(c, env.Admin.Delete(c.Context(), bundle))
	waitGone(c, env.Admin, bundle)
	waitGone(c, workload, handedOut)
	must(c, workload.Delete(c.Context(), namespace))
}

// applySample applies a file with one add-on in it.
func (c *customer) applySample(file string) *addonsv1alpha1.SaaSAddon {
	c.Helper()
	objects := c.applyFile(file)
	return &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: objects[0].GetNamespace(), Name: objects[0].GetName()}}
}

// applyFile applies a file of config/samples, and returns what is in it.
func (c *customer) applyFile(file string) []*unstructured.Unstructured {
	c.Helper()
	objects, err := manifests.Load("../config/samples/" + file)
	must(c, err)
	must(c, manifests.Apply(c.Context(), env.Fleet.Management().Config(), objects))
	return objects
}
