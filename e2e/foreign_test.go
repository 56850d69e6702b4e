package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

const (
	foreignObjects = 2000
	// foreignBytes of annotations have to be received for each, even by a watch on metadata.
	foreignBytes = 8 << 10
	// foreignCost is what the manager's memory may grow by, as a part of what the objects weigh.
	foreignCost = 0.25
)

// TestACustomersOwnObjectsWithOurLabelCostNothing makes many objects that look like Daytwo's and are
// in no inventory, before the manager's eyes and before it starts.
func TestACustomersOwnObjectsWithOurLabelCostNothing(t *testing.T) {
	c := newCustomer(t, 0, 1)
	cluster := c.clusters.bare[0]
	addon := c.install("foreign", fmt.Sprintf(oneConfigMap, "blue"))
	workload := c.workload(cluster)
	theirs := client.MatchingLabels{"theirs": "yes"}
	t.Cleanup(func() {
		must(t, workload.DeleteAllOf(context.Background(), &corev1.ConfigMap{}, client.InNamespace("default"), theirs))
	})
	bound := foreignObjects * foreignBytes * foreignCost
	before := liveHeap(t)
	c.createForeign(workload)
	made := c.foreignVersions(workload, theirs)
	if len(made) != foreignObjects {
		t.Fatalf("there are %d objects of theirs, of %d", len(made), foreignObjects)
	}

	// A change that comes after all of theirs is seen after them.
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}}
	edit(t, workload, settings, func(m *corev1.ConfigMap) { m.Data["color"] = "red" })
	expect.Eventually(t, "the add-on's own object is taken back", func(ctx context.Context) error {
		err := workload.Get(ctx, client.ObjectKeyFromObject(settings), settings)
		if err == nil && settings.Data["color"] != "blue" {
			err = fmt.Errorf("it has %v", settings.Data)
		}
		return err
	})
	within(t, "with objects of others that came later", before, liveHeap(t), bound)

	must(t, env.Manager.Kill())
	must(t, env.Manager.Start(t.Context()))
	c.awaitSteady(addon)
	within(t, "with objects of others that were there first", before, liveHeap(t), bound)
	c.uninstall(addon)
	for name, version := range c.foreignVersions(workload, theirs) {
		if made[name] != version {
			t.Errorf("%s was touched", name)
		}
		delete(made, name)
	}
	if len(made) > 0 {
		t.Errorf("%d objects of theirs are gone", len(made))
	}
}

func within(t testing.TB, what string, before, now, bound float64) {
	t.Helper()
	const mebibyte = 1 << 20
	t.Logf("%s the manager's heap is %.1f MiB, after %.1f MiB", what, now/mebibyte, before/mebibyte)
	if now-before > bound {
		t.Errorf("%s the manager's heap grew by more than %.1f MiB", what, bound/mebibyte)
	}
}

func (c *customer) createForeign(workload client.Client) {
	c.Helper()
	system := &corev1.Namespace{}
	must(c, env.Admin.Get(c.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system))
	ballast := strings.Repeat("x", foreignBytes)
	group, ctx := errgroup.WithContext(c.Context())
	group.SetLimit(8)
	for i := range foreignObjects {
		group.Go(func() error {
			return workload.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: fmt.Sprintf("theirs-%05d", i),
				Labels:      map[string]string{metav1alpha1.LabelManagedBy: string(system.UID), "theirs": "yes"},
				Annotations: map[string]string{"ballast": ballast},
			}})
		})
	}
	must(c, group.Wait())
}

func (c *customer) foreignVersions(workload client.Client, theirs client.MatchingLabels) map[string]string {
	c.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	must(c, workload.List(c.Context(), list, client.InNamespace("default"), theirs))
	versions := map[string]string{}
	for i := range list.Items {
		versions[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	return versions
}

// liveHeap is half of the size at which the manager collects garbage next: what lived on after the
// last collection, without the garbage that other measures of the heap hold. It waits for two collections,
// which reading the metrics brings about.
func liveHeap(t testing.TB) float64 {
	t.Helper()
	first := sum(t, "go_gc_duration_seconds", nil)
	expect.Eventually(t, "the manager collects garbage", func(context.Context) error {
		if now := sum(t, "go_gc_duration_seconds", nil); now < first+2 {
			return fmt.Errorf("%v collections, after %v", now, first)
		}
		return nil
	})
	return sum(t, "go_memstats_next_gc_bytes", nil) / 2
}
