package localfleet_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

func TestClustersRunWhatTheyAreFor(t *testing.T) {
	fleet := startFleet(t, localfleet.Options{StateDir: t.TempDir(), Clusters: 1})
	management := clientOf(t, fleet.Management())
	workload := clientOf(t, clusterOf(t, fleet, "workload-1"))

	t.Run("pods become ready in a workload cluster", func(t *testing.T) {
		testDeploymentBecomesReady(t, workload)
	})
	t.Run("a pod with the name of one that was deleted stays", func(t *testing.T) { testPodsCanBeReplaced(t, workload) })
	t.Run("namespaces go away in the management cluster", func(t *testing.T) {
		createNamespace(t, management, "short-lived")
		err := management.CoreV1().Namespaces().Delete(t.Context(), "short-lived", metav1.DeleteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the namespace stays", func(ctx context.Context) (bool, error) {
			_, err := management.CoreV1().Namespaces().Get(ctx, "short-lived", metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
	})
	t.Run("dependents go away in the management cluster", func(t *testing.T) {
		testDependentIsCollected(t, management)
	})
	for _, client := range []kubernetes.Interface{management, workload} {
		t.Run("quotas count what is there", func(t *testing.T) { testQuotaIsCounted(t, client) })
	}
	t.Run("a restarted cluster still runs pods", func(t *testing.T) {
		cluster := clusterOf(t, fleet, "workload-1")
		if err := cluster.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := cluster.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := workload.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
			t.Errorf("the Deployment of before: %v", err)
		}
		err := workload.CoreV1().Pods("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		waitAvailable(t, workload)
	})
}

func testDeploymentBecomesReady(t *testing.T, client kubernetes.Interface) {
	labels := map[string]string{"app": "web"}
	replicas := int32(3)
	_, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.com/web"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	waitAvailable(t, client)
}

// waitAvailable waits until all pods there are belong to a Deployment that has
// as many as it wants.
func waitAvailable(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	eventually(t, "pods of the Deployment are not ready", func(ctx context.Context) (bool, error) {
		deployment, err := client.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		running, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err != nil {
			return false, err
		}
		wanted := int(*deployment.Spec.Replicas)
		return int(deployment.Status.AvailableReplicas) == wanted && len(running.Items) == wanted, nil
	})
}

// testPodsCanBeReplaced deletes pods that are done, and makes others of the same names at once.
func testPodsCanBeReplaced(t *testing.T, client kubernetes.Interface) {
	createNamespace(t, client, "replaced")
	pods := client.CoreV1().Pods("replaced")
	const count = 30
	created := map[string]types.UID{}
	create := func(i int) {
		pod, err := pods.Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("once-%d", i)},
			Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "once", Image: "example.com/once"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		created[pod.Name] = pod.UID
	}
	awaitDone := func() {
		t.Helper()
		eventually(t, "not every pod that was made is there and done", func(ctx context.Context) (bool, error) {
			found, err := pods.List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Succeeded"})
			if err != nil {
				return false, err
			}
			there := map[string]types.UID{}
			for _, pod := range found.Items {
				there[pod.Name] = pod.UID
			}
			return maps.Equal(there, created), nil
		})
	}
	for i := range count {
		create(i)
	}
	awaitDone()
	for i := range count {
		if err := pods.Delete(t.Context(), fmt.Sprintf("once-%d", i), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		create(i)
	}
	awaitDone()
}

func testQuotaIsCounted(t *testing.T, client kubernetes.Interface) {
	createNamespace(t, client, "limited")
	of := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "limited", Name: name} }
	_, err := client.CoreV1().ResourceQuotas("limited").Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: of("most"),
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/secrets": resource.MustParse("2")}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	awaitUsed := func(want string) {
		t.Helper()
		eventually(t, "the quota does not count "+want+" Secrets as used", func(ctx context.Context) (bool, error) {
			quota, err := client.CoreV1().ResourceQuotas("limited").Get(ctx, "most", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			used, counted := quota.Status.Used["count/secrets"]
			return counted && used.String() == want, nil
		})
	}
	awaitUsed("0")
	if _, err := client.CoreV1().Secrets("limited").Create(t.Context(), &corev1.Secret{ObjectMeta: of("first")}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitUsed("1")
	if err := client.CoreV1().Secrets("limited").Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// Admission counts what is created. Only the controller notices what is gone.
	awaitUsed("0")
}

func testDependentIsCollected(t *testing.T, client kubernetes.Interface) {
	configMaps := client.CoreV1().ConfigMaps("default")
	owner, err := configMaps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "owner"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            "dependent",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := configMaps.Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the dependent stays", func(ctx context.Context) (bool, error) {
		_, err := configMaps.Get(ctx, "dependent", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

func testExpiredResourceVersionsAreGone(t *testing.T, fleet *localfleet.Fleet) {
	client := clientOf(t, fleet.Management())
	createNamespace(t, client, "first")
	old, err := client.CoreV1().Namespaces().Get(t.Context(), "first", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	createNamespace(t, client, "second")
	if err := fleet.Management().ExpireResourceVersions(t.Context()); err != nil {
		t.Fatal(err)
	}

	watch, err := client.CoreV1().Namespaces().Watch(t.Context(), metav1.ListOptions{
		ResourceVersion: old.ResourceVersion,
		FieldSelector:   fields.OneTermEqualSelector("metadata.name", "second").String(),
	})
	if err == nil {
		defer watch.Stop()
		event := <-watch.ResultChan()
		err = apierrors.FromObject(event.Object)
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from before ended with %v, want 410", err)
	}
}
