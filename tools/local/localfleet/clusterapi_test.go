package localfleet_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// Each of these orders clusters of its own, so they share a fleet.
func TestClusterAPI(t *testing.T) {
	o := startOrders(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, orders)
	}{
		{"refuses orders that cannot be", testBadOrdersAreRefused},
		{"makes, upgrades and deletes a cluster with workers", testLifeOfAnOrderedCluster},
		{"says which versions there are", testUnknownVersionNamesThoseThatThereAre},
		{"brings back what was killed", testKilledProgramsComeBack},
		{"fails if it is told to", testInjectedFailures},
		{"keeps a cluster of which there are remains", testRemainsAreNotTheCluster},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, o) })
	}
}

func testBadOrdersAreRefused(t *testing.T, o orders) {
	tests := map[string]struct {
		class     string
		variables map[string]any
		want      string
	}{
		"variable too large": {"standard", map[string]any{"podCapacity": int64(1000)}, "less than or equal to 250"},
		"unknown variable":   {"standard", map[string]any{"colour": "red"}, "variable is not defined"},
		"wrong type":         {"small", map[string]any{"maxRequestsInFlight": "many"}, "must be of type integer"},
	}
	for name, test := range tests {
		err := o.create(t, o.newCluster("refused", test.class, 0, test.variables))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the order ended with %v, want it refused with %q", name, err, test.want)
		}
	}
}

func testLifeOfAnOrderedCluster(t *testing.T, o orders) {
	versions := o.fleet.KubernetesVersions()
	before, after := versions[0], versions[len(versions)-1]
	if before == after {
		t.Fatalf("only %v to upgrade between", versions)
	}
	variables := map[string]any{"podCapacity": int64(42), "nodeLabels": map[string]any{"tier": "gold"}}
	o.mustCreate(t, o.newCluster("shop", "standard", 2, variables))
	o.expectCondition(t, "shop", "Available", "True")

	client := o.workload(t, "shop")
	expectVersion(t, client, before)
	expectNodes(t, client, 2, before)
	createNamespace(t, client, "kept")
	if err := o.setVersion(t, "shop", "v1.34.0"); !apierrors.IsInvalid(err) {
		t.Errorf("a downgrade ended with %v, want it refused", err)
	}

	if err := o.setVersion(t, "shop", after); err != nil {
		t.Fatal(err)
	}
	soon(t, func(context.Context) (bool, error) {
		version, err := client.Discovery().ServerVersion()
		return err == nil && version.GitVersion == after, nil
	}, func() string { return "the API server was not upgraded" })
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("the data of before: %v", err)
	}
	expectNodes(t, client, 2, after)

	pids := runningPIDs(t, o.fleet.StateDir())
	o.delete(t, "shop")
	expectNothingLeft(t, o.fleet, "shop", pids)

	o.mustCreate(t, o.newCluster("shop", "small", 0, nil))
	o.expectCondition(t, "shop", "Available", "True")
	_, err := o.workload(t, "shop").CoreV1().Namespaces().Get(t.Context(), "kept", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("a new cluster of the same name has data of the deleted one: %v", err)
	}
	o.delete(t, "shop")
}

func expectVersion(t *testing.T, client kubernetes.Interface, want string) {
	t.Helper()
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.GitVersion != want {
		t.Errorf("the API server is %s, want %s", version.GitVersion, want)
	}
}

// expectNodes waits until there are exactly so many nodes, all ready, in a version and with what the
// variables said.
func expectNodes(t *testing.T, client kubernetes.Interface, count int, version string) {
	t.Helper()
	var nodes *corev1.NodeList
	soon(t, func(ctx context.Context) (bool, error) {
		var err error
		nodes, err = client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err == nil && len(nodes.Items) == count && !slices.ContainsFunc(nodes.Items, func(node corev1.Node) bool {
			return node.Status.NodeInfo.KubeletVersion != version
		}), nil
	}, func() string { return fmt.Sprintf("want %d nodes of %s, there are: %v", count, version, nodes) })
	for _, node := range nodes.Items {
		if pods := node.Status.Capacity.Pods().Value(); pods != 42 || node.Labels["tier"] != "gold" {
			t.Errorf("node %s takes %d pods and has labels %v", node.Name, pods, node.Labels)
		}
		if !strings.HasPrefix(node.Spec.ProviderID, "local://shop/") {
			t.Errorf("node %s has the provider id %q", node.Name, node.Spec.ProviderID)
		}
	}
}

func expectNothingLeft(t *testing.T, fleet *localfleet.Fleet, cluster string, before map[string]int) {
	t.Helper()
	name := localfleet.OrderedName(orderNamespace, cluster)
	if _, ran := before[name]; !ran {
		t.Fatalf("%s did not run before: %v", name, before)
	}
	for program := range runningPIDs(t, fleet.StateDir()) {
		if strings.HasPrefix(program, name) {
			t.Errorf("%s still runs", program)
		}
	}
	err := filepath.WalkDir(filepath.Join(fleet.StateDir(), "ordered"), func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(path, name) {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func testUnknownVersionNamesThoseThatThereAre(t *testing.T, o orders) {
	cluster := o.newCluster("odd", "standard", 1, nil)
	topology := cluster.Object["spec"].(map[string]any)["topology"].(map[string]any)
	topology["version"] = "v1.35.99"
	o.mustCreate(t, cluster)
	var message string
	soon(t, func(ctx context.Context) (bool, error) {
		var err error
		_, message, err = o.condition(ctx, "odd", "ControlPlaneAvailable")
		return strings.Contains(message, strings.Join(o.fleet.KubernetesVersions(), ", ")), err
	}, func() string { return fmt.Sprintf("the message is %q", message) })
	o.delete(t, "odd")
}

func testKilledProgramsComeBack(t *testing.T, o orders) {
	o.mustCreate(t, o.newCluster("tough", "small", 0, nil))
	o.expectCondition(t, "tough", "ControlPlaneAvailable", "True")
	client := o.workload(t, "tough")
	createNamespace(t, client, "kept")
	answers := func(what string) {
		t.Helper()
		soon(t, func(ctx context.Context) (bool, error) {
			_, err := client.CoreV1().Namespaces().Get(ctx, "kept", metav1.GetOptions{})
			return err == nil, nil
		}, func() string { return "the cluster does not answer after " + what })
	}

	if err := o.fleet.Ordered(orderNamespace, "tough").Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	answers("its API server was killed")
	if err := o.fleet.Ordered(orderNamespace, "tough").Pause(); err != nil {
		t.Fatal(err)
	}
	o.expectCondition(t, "tough", "ControlPlaneAvailable", "False")
	if err := o.fleet.Ordered(orderNamespace, "tough").Resume(); err != nil {
		t.Fatal(err)
	}
	o.expectCondition(t, "tough", "ControlPlaneAvailable", "True")

	if err := o.fleet.KillProvider(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Ordered while nobody provides, and while nobody orders.
	o.mustCreate(t, o.newCluster("late", "small", 0, nil))
	if err := o.fleet.KillClusterAPI(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o.fleet.ProviderPID() != 0 || o.fleet.ClusterAPIPID() != 0 {
		t.Error("what was killed runs")
	}
	if err := o.fleet.StartClusterAPI(t.Context()); err != nil {
		t.Fatal(err)
	}
	answers("the provider was killed")
	o.expectCondition(t, "late", "ControlPlaneAvailable", "True")
	o.delete(t, "tough")
	o.delete(t, "late")
}

func testInjectedFailures(t *testing.T, o orders) {
	o.mustCreate(t, o.newCluster("unlucky", "standard", 1, nil))
	o.expectCondition(t, "unlucky", "Available", "True")
	for resource, conditionType := range map[string]string{
		"localcontrolplanes": "ControlPlaneAvailable",
		"localmachines":      "WorkerMachinesReady",
	} {
		o.annotateAll(t, localResource(resource), "local.daytwo.dev/fail", "out of order")
		if message := o.expectCondition(t, "unlucky", conditionType, "False"); !strings.Contains(message, "out of order") {
			t.Errorf("%s says %q", conditionType, message)
		}
		o.annotateAll(t, localResource(resource), "local.daytwo.dev/fail", nil)
		o.expectCondition(t, "unlucky", conditionType, "True")
	}
	o.delete(t, "unlucky")
}

// Cluster API that dies after it created a control plane, and before it wrote down which one, creates another one.
// The first one goes later, and takes nothing along.
func testRemainsAreNotTheCluster(t *testing.T, o orders) {
	o.mustCreate(t, o.newCluster("kept", "small", 0, nil))
	o.expectCondition(t, "kept", "ControlPlaneAvailable", "True")
	before := runningPIDs(t, o.fleet.StateDir())
	for kind, plural := range map[string]string{"LocalControlPlane": "localcontrolplanes", "LocalCluster": "localclusters"} {
		remains := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "infrastructure.local.daytwo.dev/v1alpha1",
			"kind":       kind,
			"metadata": map[string]any{
				"name": "remains", "namespace": orderNamespace,
				"labels":     map[string]any{"cluster.x-k8s.io/cluster-name": "kept"},
				"finalizers": []any{"infrastructure.local.daytwo.dev/cleanup"},
			},
		}}
		client := o.client.Resource(localResource(plural)).Namespace(orderNamespace)
		if _, err := client.Create(t.Context(), remains, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := client.Delete(t.Context(), "remains", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		soon(t, func(ctx context.Context) (bool, error) {
			_, err := client.Get(ctx, "remains", metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		}, func() string { return "the remains are still there" })
	}
	if after := runningPIDs(t, o.fleet.StateDir()); !maps.Equal(before, after) {
		t.Errorf("what runs changed from %v to %v", before, after)
	}
	createNamespace(t, o.workload(t, "kept"), "answers")
	o.delete(t, "kept")
}
