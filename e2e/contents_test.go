package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// noItems complains about the items of a list.
func noItems(list client.ObjectList) error {
	items, err := meta.ExtractList(list)
	if err != nil || len(items) == 0 {
		return err
	}
	var names []string
	for _, item := range items {
		object, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		names = append(names, fmt.Sprintf("%s (finalizers %v)", object.GetName(), object.GetFinalizers()))
	}
	return fmt.Errorf("still there: %s", strings.Join(names, ", "))
}

// labelled lists what carries Daytwo's label in a workload cluster, among all kinds that it serves.
func labelled(ctx context.Context, name string) ([]unstructured.Unstructured, error) {
	cluster, err := env.Fleet.Cluster(name)
	if err != nil {
		return nil, err
	}
	resources, err := listable(cluster.Config())
	if err != nil {
		return nil, err
	}
	lister, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		return nil, err
	}
	var all []unstructured.Unstructured
	for _, resource := range resources {
		list, err := lister.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: metav1alpha1.LabelManagedBy})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

func nothingLabelled(ctx context.Context, cluster string) error {
	left, err := labelled(ctx, cluster)
	if err != nil || len(left) == 0 {
		return err
	}
	var ids []string
	for i := range left {
		ids = append(ids, id(&left[i]))
	}
	return fmt.Errorf("left in %s: %s", cluster, strings.Join(ids, ", "))
}

// id is that of an AddonRelease's inventory.
func id(object *unstructured.Unstructured) string {
	return strings.Join([]string{object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName()}, "/")
}

// contents is what Daytwo applied in a cluster, by id, in a form that two runs have in common.
func contents(t testing.TB, cluster string) map[string]string {
	t.Helper()
	objects, err := labelled(t.Context(), cluster)
	must(t, err)
	all := map[string]string{}
	for i := range objects {
		if derived(&objects[i]) {
			continue
		}
		text, err := json.Marshal(declared(&objects[i]))
		must(t, err)
		all[id(&objects[i])] = string(text)
	}
	return all
}

// derived objects are Kubernetes' own, which hands a Service's labels on to them.
func derived(object *unstructured.Unstructured) bool {
	return object.GetKind() == "Endpoints" || object.GetKind() == "EndpointSlice"
}

// declared leaves out what the cluster itself set.
func declared(object *unstructured.Unstructured) map[string]any {
	content := object.DeepCopy().Object
	annotations := object.GetAnnotations()
	delete(annotations, "deployment.kubernetes.io/revision")
	content["metadata"] = map[string]any{
		"labels": object.GetLabels(), "annotations": annotations,
		"finalizers": object.GetFinalizers(), "owners": object.GetOwnerReferences(), "deleted": object.GetDeletionTimestamp(),
	}
	delete(content, "status")
	if object.GetKind() == "Service" {
		unstructured.RemoveNestedField(content, "spec", "clusterIP")
		unstructured.RemoveNestedField(content, "spec", "clusterIPs")
	}
	return content
}

// sameContents tells every difference between what is there and what should be.
func sameContents(t testing.TB, where string, got, want map[string]string) {
	t.Helper()
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if _, there := got[id]; !there {
			t.Errorf("%s: %s is missing", where, id)
		} else if got[id] != want[id] {
			t.Errorf("%s: %s is\n%s\nand not\n%s", where, id, got[id], want[id])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(got)) {
		if _, declared := want[id]; !declared {
			t.Errorf("%s: %s is left over", where, id)
		}
	}
}

// inventoryTells compares what a release says is in its cluster to what is.
func inventoryTells(t testing.TB, release *addonsv1alpha1.AddonRelease, got map[string]string) {
	t.Helper()
	listed := map[string]bool{}
	for _, entry := range release.Status.Inventory {
		listed[entry.ID] = true
		if _, there := got[entry.ID]; !there {
			t.Errorf("%s lists %s, which is not there", release.Name, entry.ID)
		}
	}
	for id := range got {
		if !listed[id] {
			t.Errorf("%s does not list %s, which is there", release.Name, id)
		}
	}
}

// revisions are the labels of the Secrets that hold an add-on's revisions, sorted.
func (c *customer) revisions(addon *addonsv1alpha1.SaaSAddon) []string {
	c.Helper()
	secrets := &corev1.SecretList{}
	must(c, env.Admin.List(c.Context(), secrets, client.InNamespace(c.namespace),
		client.HasLabels{metav1alpha1.LabelRevision}, client.MatchingLabels{metav1alpha1.LabelPolicy: addon.Name}))
	var labels []string
	for i := range secrets.Items {
		labels = append(labels, secrets.Items[i].Name+" "+secrets.Items[i].Labels[metav1alpha1.LabelRevision])
	}
	slices.Sort(labels)
	return labels
}

// awaitNothingLeft waits until nothing of an add-on is left: its objects and its namespace in the
// clusters, its targets and revisions.
func (c *customer) awaitNothingLeft(addon *addonsv1alpha1.SaaSAddon) {
	c.Helper()
	for _, cluster := range c.clusters.all() {
		expect.Eventually(c, "nothing is left in "+cluster, func(ctx context.Context) error { return nothingLabelled(ctx, cluster) })
		if addon.Spec.CreateNamespace {
			waitGone(c, c.workload(cluster), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: addon.Spec.Namespace}})
		}
	}
	expect.Eventually(c, "no target and no revision is left", func(ctx context.Context) error {
		inNamespace, ofAddon := client.InNamespace(c.namespace), client.MatchingLabels{metav1alpha1.LabelPolicy: addon.Name}
		if err := none(ctx, env.Admin, &addonsv1alpha1.AddonReleaseList{}, inNamespace, ofAddon); err != nil {
			return err
		}
		return none(ctx, env.Admin, &corev1.SecretList{}, inNamespace, ofAddon)
	})
}

func listable(config *rest.Config) ([]schema.GroupVersionResource, error) {
	discovered, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	groups, err := discovered.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("discover kinds: %w", err)
	}
	var all []schema.GroupVersionResource
	for _, group := range groups {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range group.APIResources {
			if slices.Contains(resource.Verbs, "list") {
				all = append(all, version.WithResource(resource.Name))
			}
		}
	}
	return all, nil
}
