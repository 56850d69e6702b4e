package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

func TestDriftMadeWhileTheManagerWasDownIsTakenBack(t *testing.T) {
	c := newCustomer(t, 1, 0)
	addon, cluster := c.install("drift", web("1", 3)), c.clusters.full[0]
	want, workload := contents(t, cluster), c.workload(cluster)
	part := func(i int) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "drift", Name: fmt.Sprintf("part-%02d", i)}}
	}

	must(t, env.Manager.Kill())
	edit(t, workload, part(0), func(m *corev1.ConfigMap) { m.Data["value"] = "edited" })
	edit(t, workload, part(1), func(m *corev1.ConfigMap) { m.Data["added"] = "key" })
	must(t, workload.Delete(t.Context(), part(2)))
	edit(t, workload, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "drift", Name: "web"}}, func(d *appsv1.Deployment) {
		d.Spec.Replicas = ptr.To[int32](5)
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "debug", Image: "busybox"})
	})
	must(t, env.Manager.Start(t.Context()))

	release := c.awaitRelease(addon, cluster, "four corrections are in status", func(release *addonsv1alpha1.AddonRelease) error {
		if release.Status.Drift.Count < 4 {
			return fmt.Errorf("there are %d: %+v", release.Status.Drift.Count, release.Status.Drift.Corrections)
		}
		return expect.Condition(release.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
	sameContents(t, "after the start", contents(t, cluster), want)
	told := map[string]metav1alpha1.DriftCorrection{}
	for _, correction := range release.Status.Drift.Corrections {
		told[correction.Object] = correction
	}
	for object, by := range map[string]string{
		"v1/ConfigMap/drift/part-00": "kubectl-edit", "v1/ConfigMap/drift/part-01": "kubectl-edit",
		"v1/ConfigMap/drift/part-02": "", "apps/v1/Deployment/drift/web": "kubectl-edit",
	} {
		if correction, ok := told[object]; !ok || correction.Manager != by {
			t.Errorf("status tells of %s %+v; want it to be by %q", object, correction, by)
		}
	}
	if operation := told["v1/ConfigMap/drift/part-02"].Operation; operation != "Delete" {
		t.Errorf("a deletion is told as %q", operation)
	}
	if len(told) != 4 || release.Status.Drift.Count != 4 {
		t.Errorf("4 objects were changed, and status tells of %d corrections: %+v", release.Status.Drift.Count, release.Status.Drift.Corrections)
	}
}

// edit changes an object as a person with kubectl edit does.
func edit[T client.Object](t testing.TB, c client.Client, object T, change func(T)) {
	t.Helper()
	must(t, c.Get(t.Context(), client.ObjectKeyFromObject(object), object))
	before := object.DeepCopyObject().(client.Object)
	change(object)
	must(t, c.Patch(t.Context(), object, client.StrategicMergeFrom(before), client.FieldOwner("kubectl-edit")))
}

func TestARestartWritesNothing(t *testing.T) {
	c := newCustomer(t, 2, 0)
	addon := c.install("steady", web("1", 3))
	c.awaitSteady(addon)
	before := c.versions()
	must(t, env.Manager.Kill())
	must(t, env.Manager.Start(t.Context()))
	c.awaitSteady(addon)
	for id, version := range c.versions() {
		if before[id] != version {
			t.Errorf("%s was written: version %s became %s", id, before[id], version)
		}
		delete(before, id)
	}
	for id := range before {
		t.Errorf("%s is gone", id)
	}
	for _, sample := range samples(t, "daytwo_remote_requests_total") {
		switch verb := sample.labels["verb"]; verb {
		case "patch", "post", "put", "delete":
			t.Errorf("%v requests %s to the workload clusters", sample.value, verb)
		}
	}
}

// awaitSteady waits until the manager is connected, has looked at everything and has nothing to do.
func (c *customer) awaitSteady(addon *addonsv1alpha1.SaaSAddon) {
	c.Helper()
	expect.Eventually(c, "the manager is at rest", func(context.Context) error {
		for _, cluster := range c.clusters.all() {
			if got := sum(c, "daytwo_cluster_connected", map[string]string{"namespace": c.namespace, "cluster": cluster}); got != 1 {
				return fmt.Errorf("daytwo_cluster_connected of %s is %v", cluster, got)
			}
			if got := sum(c, "daytwo_target_ready", map[string]string{"namespace": c.namespace, "cluster": cluster, "policy": addon.Name}); got != 1 {
				return fmt.Errorf("daytwo_target_ready of %s is %v", cluster, got)
			}
		}
		for _, busy := range []string{"workqueue_depth", "controller_runtime_active_workers", "workqueue_unfinished_work_seconds"} {
			if got := sum(c, busy, nil); got != 0 {
				return fmt.Errorf("%s is %v", busy, got)
			}
		}
		return nil
	})
}

// versions of all that Daytwo writes for the customer.
func (c *customer) versions() map[string]string {
	c.Helper()
	all := map[string]string{}
	for kind, list := range map[string]client.ObjectList{
		"TenantCluster": &tenancyv1alpha1.TenantClusterList{}, "SaaSAddon": &addonsv1alpha1.SaaSAddonList{},
		"AddonRelease": &addonsv1alpha1.AddonReleaseList{}, "Secret": &corev1.SecretList{},
	} {
		must(c, env.Admin.List(c.Context(), list, client.InNamespace(c.namespace)))
		for _, object := range objectsOf(c, list) {
			all[kind+" "+object.GetName()] = object.GetResourceVersion()
		}
	}
	for _, cluster := range c.clusters.all() {
		objects, err := labelled(c.Context(), cluster)
		must(c, err)
		for i := range objects {
			if !derived(&objects[i]) {
				all[cluster+" "+id(&objects[i])] = version(&objects[i])
			}
		}
	}
	return all
}

// version changes with every write of Daytwo's; where controllers write a status, not with theirs.
func version(object *unstructured.Unstructured) string {
	if _, hasStatus := object.Object["status"]; !hasStatus {
		return object.GetResourceVersion()
	}
	text := fmt.Sprintf("%s, generation %d", object.GetUID(), object.GetGeneration())
	for _, entry := range object.GetManagedFields() {
		if entry.Subresource == "" {
			text += fmt.Sprintf(", %s at %s", entry.Manager, entry.Time)
		}
	}
	return text
}

// rounds of three kills each: during install, during an update that prunes, during deletion.
const rounds = 3

func TestKilledAtAnyMomentItEndsWhereAnUndisturbedRunEnds(t *testing.T) {
	t.Logf("moments are those of -seed=%d", *seed)
	random := rand.New(rand.NewPCG(uint64(*seed), 0))
	c := newCustomer(t, 2, 0)
	undisturbed := c.live(func(string, time.Duration) {}, course{})
	for round := range rounds {
		kill := func(during string, took time.Duration) {
			moment := time.Duration(random.Int64N(int64(took) + 1))
			t.Logf("round %d: killed %s after the request to %s, which takes %s", round+1, moment, during, took)
			// The moment is what is tested; nothing is waited for.
			<-time.After(moment)
			must(t, env.Manager.Kill())
			must(t, env.Manager.Start(t.Context()))
		}
		disturbed := c.live(kill, undisturbed)
		for _, step := range []struct {
			name      string
			got, want state
		}{{"install", disturbed.installed, undisturbed.installed}, {"update", disturbed.updated, undisturbed.updated}} {
			where := fmt.Sprintf("round %d, killed during %s", round+1, step.name)
			for cluster, want := range step.want.contents {
				sameContents(t, where+", "+cluster, step.got.contents[cluster], want)
			}
			if got, want := fmt.Sprint(step.got.revisions), fmt.Sprint(step.want.revisions); got != want {
				t.Errorf("%s: revisions are %s, and not %s", where, got, want)
			}
		}
	}
}

// course is what became of an add-on in its life, and how long that took.
type course struct {
	installed, updated            state
	installing, updating, leaving time.Duration
}

type state struct {
	contents  map[string]map[string]string
	revisions []string
}

// live leads an add-on through its life, and disturbs each step; usual tells how long they take.
func (c *customer) live(disturb func(during string, took time.Duration), usual course) course {
	c.Helper()
	var now course
	start := time.Now()
	addon := c.newAddon("killed", web("1", 12))
	must(c, env.Admin.Create(c.Context(), addon))
	disturb("install", usual.installing)
	c.awaitReady(addon)
	now.installing, now.installed = time.Since(start), c.state(addon)

	start = time.Now()
	c.change(addon, web("2", 6)+"---\n"+fmt.Sprintf(oneConfigMap, "new"))
	disturb("update", usual.updating)
	c.awaitReady(addon)
	now.updating, now.updated = time.Since(start), c.state(addon)

	start = time.Now()
	must(c, env.Admin.Delete(c.Context(), addon))
	disturb("delete", usual.leaving)
	waitGone(c, env.Admin, addon)
	now.leaving = time.Since(start)
	c.awaitNothingLeft(addon)
	return now
}

func (c *customer) state(addon *addonsv1alpha1.SaaSAddon) state {
	c.Helper()
	now := state{contents: map[string]map[string]string{}, revisions: c.revisions(addon)}
	for _, release := range c.releases(addon) {
		cluster := release.Spec.ClusterRef.Name
		now.contents[cluster] = contents(c, cluster)
		inventoryTells(c, &release, now.contents[cluster])
		if count := release.Status.Drift.Count; count != 0 {
			c.Errorf("%s tells of %d corrections, and nobody changed anything: %+v", release.Name, count, release.Status.Drift.Corrections)
		}
	}
	return now
}
