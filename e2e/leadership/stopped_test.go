package leadership

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/environment"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
)

const (
	customer = "customer-acme"
	cluster  = "workload-1"
	parts    = 300
	// stopAfter is how many objects have the next revision when the manager is stopped.
	stopAfter = 10
)

func TestMain(m *testing.M) {
	os.Exit(fixture.Main(m, 1, start))
}

var env *environment.Environment

func start(ctx context.Context, dir string) (end func() error, err error) {
	env, err = environment.Start(ctx, environment.Options{
		StateDir: dir, Clusters: 1, Bare: true, Progress: os.Stderr,
		// Long enough for a busy machine to renew it, short enough to wait for.
		ManagerArgs: []string{"--leader-election-lease-duration=6s"},
	})
	if err != nil {
		return nil, err
	}
	return env.Close, err
}

// A manager is stopped in the middle of a rollout, another one takes over and brings a newer revision, and then
// the first one goes on where it was.
func TestAManagerThatWasStoppedForLongerThanItsLeaseWritesNothing(t *testing.T) {
	must(t, env.Register(t.Context(), customer, cluster, nil))
	workload, err := env.Workload(cluster)
	must(t, err)
	addon := newAddon("1")
	must(t, env.Admin.Create(t.Context(), addon))
	awaitRevision(t, workload, addon, "1")

	first := env.Manager.PID()
	declared := stopInTheMiddle(t, workload, addon, first)
	must(t, env.Manager.StartReplica(t.Context()))
	newest := strconv.Itoa(declared + 1)
	declare(t, addon, newest)
	awaitRevision(t, workload, addon, newest)

	before := everything(t, workload)
	must(t, syscall.Kill(first, syscall.SIGCONT))
	expect.Eventually(t, "the manager that lost its lease ends", func(context.Context) error {
		if pid := env.Manager.PID(); pid != 0 {
			return fmt.Errorf("it runs as process %d", pid)
		}
		return nil
	})
	for object, version := range everything(t, workload) {
		if before[object] != version {
			t.Errorf("%s was written: its version is %s, after %s", object, version, before[object])
		}
	}
	log, err := os.ReadFile(env.Manager.LogPath())
	must(t, err)
	if !strings.Contains(string(log), "leader election lost") {
		t.Error("the manager ended for another reason than its lease")
	}
}

// stopInTheMiddle declares revisions after the first one until the manager was stopped while it brought one of them, and returns
// that one. A manager that was done with a revision before the signal reached it goes on, within the time of its lease.
func stopInTheMiddle(t *testing.T, workload client.WithWatch, addon *addonsv1alpha1.SaaSAddon, pid int) (revision int) {
	t.Helper()
	changes, err := workload.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace("default"), client.MatchingLabels{"part": "yes"})
	must(t, err)
	defer changes.Stop()
	for revision = 2; ; revision++ {
		before, now := strconv.Itoa(revision-1), strconv.Itoa(revision)
		declare(t, addon, now)
		for moved := 0; moved < stopAfter; {
			change, open := <-changes.ResultChan()
			if !open {
				t.Fatal("the watch ended")
			}
			if part, ok := change.Object.(*corev1.ConfigMap); ok && part.Data["revision"] == now {
				moved++
			}
		}
		must(t, syscall.Kill(pid, syscall.SIGSTOP))
		if of := revisions(t, workload); of[before] > 0 {
			return revision
		}
		must(t, syscall.Kill(pid, syscall.SIGCONT))
		awaitRevision(t, workload, addon, now)
	}
}

func newAddon(revision string) *addonsv1alpha1.SaaSAddon {
	return &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: customer, Name: "parts"},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{cluster}}, Namespace: "default",
			Source: addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: manifests(revision)}},
		},
	}
}

func manifests(revision string) string {
	var text strings.Builder
	for i := range parts {
		_, _ = fmt.Fprintf(&text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: part-%d, labels: {part: 'yes'}}\ndata: {revision: %q}\n", i, revision)
	}
	return text.String()
}

func declare(t *testing.T, addon *addonsv1alpha1.SaaSAddon, revision string) {
	t.Helper()
	before := addon.DeepCopy()
	addon.Spec.Source.Manifests.Inline = manifests(revision)
	must(t, env.Admin.Patch(t.Context(), addon, client.MergeFrom(before)))
}

func awaitRevision(t *testing.T, workload client.Client, addon *addonsv1alpha1.SaaSAddon, revision string) {
	t.Helper()
	expect.Eventually(t, "revision "+revision+" is everywhere", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(addon), addon); err != nil {
			return err
		}
		if addon.Status.ObservedGeneration != addon.Generation {
			return errors.New("the add-on was not looked at yet")
		}
		if err := expect.Condition(addon.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionTrue, ""); err != nil {
			return err
		}
		if of := revisions(t, workload); of[revision] != parts {
			return fmt.Errorf("objects by revision: %v", of)
		}
		return nil
	})
}

// revisions counts the objects in the cluster by their revision.
func revisions(t *testing.T, workload client.Client) map[string]int {
	t.Helper()
	list := &corev1.ConfigMapList{}
	must(t, workload.List(t.Context(), list, client.InNamespace("default"), client.MatchingLabels{"part": "yes"}))
	count := map[string]int{}
	for _, part := range list.Items {
		count[part.Data["revision"]]++
	}
	return count
}

// everything that the managers may write, with its version.
func everything(t *testing.T, workload client.Client) map[string]string {
	t.Helper()
	all := versions(t, workload, &corev1.ConfigMapList{})
	for _, list := range []client.ObjectList{
		&addonsv1alpha1.SaaSAddonList{}, &addonsv1alpha1.AddonReleaseList{}, &tenancyv1alpha1.TenantClusterList{}, &corev1.SecretList{},
	} {
		maps.Copy(all, versions(t, env.Admin, list))
	}
	return all
}

func versions(t *testing.T, c client.Client, list client.ObjectList) map[string]string {
	t.Helper()
	must(t, c.List(t.Context(), list))
	items, err := items(list)
	must(t, err)
	found := map[string]string{}
	for _, item := range items {
		found[fmt.Sprintf("%T %s", item, client.ObjectKeyFromObject(item))] = item.GetResourceVersion()
	}
	return found
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func items(list client.ObjectList) ([]client.Object, error) {
	extracted, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	objects := make([]client.Object, 0, len(extracted))
	for _, one := range extracted {
		objects = append(objects, one.(client.Object))
	}
	return objects, nil
}
