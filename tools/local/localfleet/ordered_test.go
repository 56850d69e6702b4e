package localfleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const orderNamespace = "orders"

var (
	clusterResource       = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
	orderedClusterTimeout = 5 * time.Minute
)

func localResource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "infrastructure.local.daytwo.dev", Version: "v1alpha1", Resource: plural}
}

// orders is a management cluster that clusters can be ordered from.
type orders struct {
	fleet      *localfleet.Fleet
	management kubernetes.Interface
	client     dynamic.Interface
	// version is what clusters are ordered in.
	version string
}

func ordering(stateDir string) localfleet.Options {
	return localfleet.Options{StateDir: stateDir, ClusterAPI: true}
}

func startOrders(t *testing.T) orders {
	t.Helper()
	return ordersFrom(t, startFleet(t, ordering(t.TempDir())))
}

func ordersFrom(t *testing.T, fleet *localfleet.Fleet) orders {
	t.Helper()
	o := ordersOver(t, fleet.Management().Config())
	o.fleet, o.version = fleet, fleet.KubernetesVersions()[0]
	return o
}

// ordersFromFile orders from a fleet of another process, in the version that its management cluster has.
func ordersFromFile(t *testing.T, kubeconfig string) orders {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	o := ordersOver(t, config)
	version, err := o.management.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	o.version = version.GitVersion
	return o
}

func ordersOver(t *testing.T, config *rest.Config) orders {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	management, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	createNamespace(t, management, orderNamespace)
	return orders{management: management, client: client}
}

// newCluster returns a Cluster of a class with that many workers.
func (o orders) newCluster(name, class string, workers int64, variables map[string]any) *unstructured.Unstructured {
	topology := map[string]any{
		"classRef":     map[string]any{"name": class, "namespace": localfleet.ClassNamespace},
		"version":      o.version,
		"controlPlane": map[string]any{"replicas": int64(1)},
	}
	var values []any
	for variable, value := range variables {
		values = append(values, map[string]any{"name": variable, "value": value})
	}
	topology["variables"] = values
	if workers > 0 {
		pool := map[string]any{"class": "default", "name": "pool", "replicas": workers}
		topology["workers"] = map[string]any{"machineDeployments": []any{pool}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2",
		"kind":       "Cluster",
		"metadata":   map[string]any{"name": name, "namespace": orderNamespace},
		"spec":       map[string]any{"topology": topology},
	}}
}

func (o orders) create(t *testing.T, cluster *unstructured.Unstructured) error {
	t.Helper()
	_, err := o.client.Resource(clusterResource).Namespace(orderNamespace).Create(t.Context(), cluster, metav1.CreateOptions{})
	return err
}

func (o orders) mustCreate(t *testing.T, cluster *unstructured.Unstructured) {
	t.Helper()
	if err := o.create(t, cluster); err != nil {
		t.Fatal(err)
	}
}

func (o orders) setVersion(t *testing.T, name, version string) error {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"topology":{"version":%q}}}`, version)
	_, err := o.client.Resource(clusterResource).Namespace(orderNamespace).
		Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// condition returns the status and the message of a Cluster's condition.
func (o orders) condition(ctx context.Context, name, conditionType string) (status, message string, err error) {
	cluster, err := o.client.Resource(clusterResource).Namespace(orderNamespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", "", err
	}
	status, message = conditionOf(cluster, conditionType)
	return status, message, nil
}

func conditionOf(object *unstructured.Unstructured, conditionType string) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		if fields["type"] == conditionType {
			message, _, _ = unstructured.NestedString(fields, "message")
			status, _, _ = unstructured.NestedString(fields, "status")
		}
	}
	return status, message
}

func (o orders) expectCondition(t *testing.T, name, conditionType, want string) (message string) {
	t.Helper()
	var status string
	soon(t, func(ctx context.Context) (done bool, err error) {
		status, message, err = o.condition(ctx, name, conditionType)
		return status == want, err
	}, func() string {
		return fmt.Sprintf("%s of %s is %q (%s), want %s", conditionType, name, status, message, want)
	})
	return message
}

// workload returns a client of an ordered cluster by the Secret with its kubeconfig.
func (o orders) workload(t *testing.T, name string) kubernetes.Interface {
	t.Helper()
	secret, err := o.management.CoreV1().Secrets(orderNamespace).
		Get(t.Context(), name+"-kubeconfig", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// delete deletes a Cluster and waits until it is gone.
func (o orders) delete(t *testing.T, name string) {
	t.Helper()
	clusters := o.client.Resource(clusterResource).Namespace(orderNamespace)
	if err := clusters.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	soon(t, func(ctx context.Context) (bool, error) {
		_, err := clusters.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	}, func() string {
		_, message, _ := o.condition(context.Background(), name, "Deleting")
		return fmt.Sprintf("Cluster %s is still there: %s", name, message)
	})
}

// annotateAll annotates all objects of a kind, or takes the annotation away if the value is nil.
func (o orders) annotateAll(t *testing.T, resource schema.GroupVersionResource, key string, value any) {
	t.Helper()
	objects, err := o.client.Resource(resource).Namespace(orderNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(objects.Items) == 0 {
		t.Fatalf("%d %s, %v", len(objects.Items), resource.Resource, err)
	}
	content, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects.Items {
		_, err := o.client.Resource(resource).Namespace(orderNamespace).
			Patch(t.Context(), object.GetName(), types.MergePatchType, content, metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// soon waits for what takes programs to be started.
func soon(t *testing.T, condition func(context.Context) (bool, error), problem func() string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, orderedClusterTimeout, true, condition)
	if err != nil {
		t.Fatalf("%s: %v", problem(), err)
	}
}
