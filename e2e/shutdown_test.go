package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/environment"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// TestSIGTERMFinishesWhatIsInFlight asks the manager to end while it waits for the answer of one of two
// clusters, which comes afterwards. The manager ends in order, and what a release says of its cluster is
// then true: nothing was written without having been told.
func TestSIGTERMFinishesWhatIsInFlight(t *testing.T) {
	c := newCustomer(t, 2, 0)
	slow, quick := c.clusters.full[0], c.clusters.full[1]
	addon := c.install("sigterm", web("1", 40))
	old := addon.Status.Revision
	c.suspend(slow, true)
	c.change(addon, web("2", 60))
	c.awaitRelease(addon, quick, "ready at the new revision", func(release *addonsv1alpha1.AddonRelease) error {
		if release.Status.Revision == old {
			return fmt.Errorf("it is at %s", old)
		}
		return expect.Condition(release.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
	// A cluster that stands still is found dead after some seconds, and is not waited for any longer.
	must(t, fleetCluster(t, slow).Pause())
	c.suspend(slow, false)
	c.awaitRelease(addon, slow, "an answer is waited for", func(release *addonsv1alpha1.AddonRelease) error {
		busy := sum(t, "controller_runtime_active_workers", map[string]string{"controller": "addonrelease"})
		if busy != 1 || release.Status.Applying == "" {
			return fmt.Errorf("%v targets are worked on, and %q is under way", busy, release.Status.Applying)
		}
		return nil
	})

	told, stopped := len(logged(t)), make(chan error, 1)
	go func() { stopped <- env.Manager.Stop(context.Background()) }()
	expect.Eventually(t, "the manager is about to end", func(context.Context) error {
		return says(logged(t)[told:], "Stopping and waiting")
	})
	must(t, fleetCluster(t, slow).Resume())
	must(t, <-stopped) // Any exit code but 0 is an error.

	for _, cluster := range c.clusters.all() {
		release, err := c.findRelease(t.Context(), addon, cluster)
		must(t, err)
		if release.Status.Revision == old {
			t.Errorf("what was in flight in %s was not finished: it has revision %s", cluster, old)
		}
		inventoryTells(t, release, contents(t, cluster))
		hashesTell(t, cluster, release)
	}
	must(t, env.Manager.Start(t.Context()))
	c.awaitReady(addon)
	for _, cluster := range c.clusters.all() {
		release, err := c.findRelease(t.Context(), addon, cluster)
		must(t, err)
		inventoryTells(t, release, contents(t, cluster))
	}
}

func TestAStartThatFailsWithoutAWordSaysSo(t *testing.T) {
	must(t, env.Manager.Kill())
	t.Cleanup(func() { must(t, env.Manager.Start(context.Background())) })
	silent, err := exec.LookPath("false")
	must(t, err)
	err = env.Fleet.StartManager(t.Context(), silent)
	if err == nil {
		t.Fatal("a program that ends at once is said to be ready")
	}
	if err := says(err.Error(), "it ended by itself: exit status 1", "it logged nothing to "+env.Manager.LogPath()); err != nil {
		t.Error(err)
	}
}

// hashesTell compares what a release says it applied to what is there.
func hashesTell(t testing.TB, cluster string, release *addonsv1alpha1.AddonRelease) {
	t.Helper()
	objects, err := labelled(t.Context(), cluster)
	must(t, err)
	hashes := map[string]string{}
	for i := range objects {
		hashes[id(&objects[i])] = objects[i].GetLabels()[metav1alpha1.LabelHash]
	}
	for _, entry := range release.Status.Inventory {
		if entry.Hash != "" && !strings.HasSuffix(hashes[entry.ID], entry.Hash) {
			t.Errorf("%s says that it applied %s with hash %s; it has %s", release.Name, entry.ID, entry.Hash, hashes[entry.ID])
		}
	}
}

// TestSIGTERMWritesWhatWasPutOff ends the manager while a release waits to tell of a health that flaps.
func TestSIGTERMWritesWhatWasPutOff(t *testing.T) {
	c := newCustomer(t, 0, 1)
	cluster := c.clusters.bare[0]
	addon := c.newAddon("putoff", strings.ReplaceAll(bareDeployment, "NAME", "putoff"))
	must(t, env.Admin.Create(t.Context(), addon))
	c.awaitRelease(addon, cluster, "applied", func(release *addonsv1alpha1.AddonRelease) error {
		return expect.Condition(release.Status.Conditions, metav1alpha1.ConditionApplied, metav1.ConditionTrue, "")
	})
	stored := func(ctx context.Context) bool {
		release, err := c.findRelease(ctx, addon, cluster)
		must(t, err)
		return meta.IsStatusConditionTrue(release.Status.Conditions, metav1alpha1.ConditionReady)
	}
	known := func() bool {
		return sum(t, "daytwo_target_ready", map[string]string{"namespace": c.namespace, "policy": addon.Name}) == 1
	}
	// Both states are told first; then one of the next waits. The manager knows a state before it decides whether to write it.
	isReady := false
	flap := func(ctx context.Context) {
		isReady = !isReady
		must(t, environment.SetAvailable(ctx, c.workload(cluster), client.ObjectKey{Namespace: "default", Name: "putoff"}, isReady))
		expect.EventuallyIn(ctx, t, "the manager knows it", func(context.Context) error {
			if known() != isReady {
				return fmt.Errorf("it is known as ready: %t", known())
			}
			return nil
		})
	}
	expect.Eventually(t, "a status waits", func(ctx context.Context) error {
		flap(ctx)
		if stored(ctx) == isReady {
			return fmt.Errorf("that it is ready is stored at once: %t", isReady)
		}
		return nil
	})
	must(t, env.Manager.Stop(context.Background()))
	if stored(t.Context()) != isReady {
		t.Errorf("the manager ended, and the release does not tell that it is ready: %t", isReady)
	}
	must(t, env.Manager.Start(t.Context()))
}

// bareDeployment is for a cluster in which nothing runs.
const bareDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: main, image: "main:1"}]}
`
