package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// oneConfigMap declares little.
const oneConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: %s}\n"

// web declares an add-on of several kinds, so many ConfigMaps among them, with a value that tells
// one revision from the next.
func web(value string, configMaps int) string {
	text := strings.ReplaceAll(webObjects, "VALUE", value)
	for i := range configMaps {
		text += fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: part-%02d}\ndata: {value: %q, cluster: '{{ .Cluster.Name }}'}\n", i, value)
	}
	return text
}

const webObjects = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {value: "VALUE"}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:VALUE"}]}
`

func TestAnAddonReachesEverySelectedClusterAndLeavesNothing(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 2, 0)
	addon := c.install("reach", web("1", 3))
	if selected := addon.Status.Clusters.Selected.Count; selected != 2 {
		t.Errorf("%d clusters are selected, of 2", selected)
	}
	for _, cluster := range c.clusters.full {
		deployment := &appsv1.Deployment{}
		must(t, c.workload(cluster).Get(t.Context(), client.ObjectKey{Namespace: "reach", Name: "web"}, deployment))
		if deployment.Status.ReadyReplicas != 2 {
			t.Errorf("%d of 2 pods are ready in %s although the add-on is said to be", deployment.Status.ReadyReplicas, cluster)
		}
		part := &corev1.ConfigMap{}
		must(t, c.workload(cluster).Get(t.Context(), client.ObjectKey{Namespace: "reach", Name: "part-00"}, part))
		if part.Data["cluster"] != cluster {
			t.Errorf("the template made %q of the name of %s", part.Data["cluster"], cluster)
		}
		release, err := c.findRelease(t.Context(), addon, cluster)
		must(t, err)
		inventoryTells(t, release, contents(t, cluster))
	}
	c.uninstall(addon)
	c.awaitNothingLeft(addon)
}

func TestDeletingACustomersNamespaceCleansUpInTheCluster(t *testing.T) {
	c := newCustomer(t, 1, 0)
	addon := c.install("farewell", web("1", 3))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: c.clusters.full[0] + "-kubeconfig"}}

	// The namespace is emptied, as far as finalizers allow, before the manager has a look: it must
	// find the way into the cluster, and what to remove there, in what is held.
	must(t, env.Manager.Kill())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	must(t, env.Admin.Delete(t.Context(), namespace))
	expect.Eventually(t, "Kubernetes has deleted what it can", func(ctx context.Context) error {
		if err := none(ctx, env.Admin, &corev1.ConfigMapList{}, client.InNamespace(c.namespace)); err != nil {
			return err
		}
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(addon), addon); err != nil {
			return err
		}
		if secret.DeletionTimestamp == nil || addon.DeletionTimestamp == nil {
			return fmt.Errorf("not all is deleted: the kubeconfig %v, the add-on %v", secret.DeletionTimestamp, addon.DeletionTimestamp)
		}
		return none(ctx, env.Admin, &corev1.SecretList{}, client.InNamespace(c.namespace), client.HasLabels{metav1alpha1.LabelRevision})
	})
	must(t, env.Manager.Start(t.Context()))

	waitGone(t, env.Admin, namespace)
	must(t, nothingLabelled(t.Context(), c.clusters.full[0]))
	waitGone(t, c.workload(c.clusters.full[0]), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "farewell"}})
}
