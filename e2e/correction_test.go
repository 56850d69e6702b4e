package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

const (
	correctedParts = 24
	// editEvery leaves each object alone long enough that nobody is taken for a program that fights.
	editEvery = 20 * time.Millisecond
	// killsInEdits and killsInReturn are while a cluster is edited and another is away, and while that
	// one comes back.
	killsInEdits, killsInReturn = 8, 3
	longestLife                 = 500 * time.Millisecond
)

// TestKilledWhileItCorrectsItEndsAsDeclared changes what is in two clusters, takes one of them away, and
// goes on with the other while the manager dies again and again.
func TestKilledWhileItCorrectsItEndsAsDeclared(t *testing.T) {
	t.Logf("moments are those of -seed=%d", *seed)
	random := rand.New(rand.NewPCG(uint64(*seed), 1))
	c := newCustomer(t, 0, 2)
	edited, away := c.clusters.bare[0], c.clusters.bare[1]
	addon := c.install("corrected", parts(correctedParts))
	want := map[string]map[string]string{edited: contents(t, edited), away: contents(t, away)}

	for part := range correctedParts {
		must(t, intrude(t.Context(), c.workload(away), part, random.IntN(len(intrusions))))
	}
	must(t, fleetCluster(t, away).Stop(t.Context()))
	edits := c.keepEditing(edited, rand.New(rand.NewPCG(uint64(*seed), 2)))
	c.killManager(killsInEdits, random)
	must(t, fleetCluster(t, away).Start(t.Context()))
	c.killManager(killsInReturn, random)
	t.Logf("%d edits were made", edits())

	for cluster, declared := range want {
		expect.Eventually(t, cluster+" is as declared", func(ctx context.Context) error {
			if others := differing(contents(t, cluster), declared); len(others) > 0 {
				return fmt.Errorf("not as declared: %v", others)
			}
			release, err := c.findRelease(ctx, addon, cluster)
			if err != nil {
				return err
			}
			return inventoryKnows(ctx, release, cluster)
		})
	}
	c.awaitReady(addon)
	c.uninstall(addon)
	c.awaitNothingLeft(addon)
}

func parts(count int) string {
	text := ""
	for i := range count {
		text += fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: corrected-%02d}\ndata: {value: declared}\n", i)
	}
	return text
}

// intrusions are what people do to an object: a patch, or none for its deletion. The last one makes it
// look as if it were nobody's.
var intrusions = []string{
	`{"data":{"value":"edited"}}`,
	`{"data":{"added":"key"}}`,
	`{"metadata":{"labels":{"added":"label"}}}`,
	``,
	`{"metadata":{"labels":null}}`,
}

func intrude(ctx context.Context, workload client.Client, part, how int) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("corrected-%02d", part)}}
	if intrusions[how] == "" {
		return client.IgnoreNotFound(workload.Delete(ctx, object))
	}
	patch := client.RawPatch(types.MergePatchType, []byte(intrusions[how]))
	return client.IgnoreNotFound(workload.Patch(ctx, object, patch, client.FieldOwner("kubectl-edit")))
}

// keepEditing changes one object after the other until the returned function is called, which returns
// how many it changed.
func (c *customer) keepEditing(cluster string, random *rand.Rand) (stop func() int) {
	c.Helper()
	workload := c.workload(cluster)
	ctx, cancel := context.WithCancel(c.Context())
	edits, result := 0, make(chan error, 1)
	go func() {
		tick := time.NewTicker(editEvery)
		defer tick.Stop()
		for ; ctx.Err() == nil; <-tick.C {
			if err := intrude(ctx, workload, edits%correctedParts, random.IntN(len(intrusions))); err != nil {
				result <- err
				return
			}
			edits++
		}
		result <- nil
	}()
	return func() int {
		c.Helper()
		cancel()
		if err := <-result; err != nil && ctx.Err() == nil {
			c.Fatal(err)
		}
		return edits
	}
}

// killManager lets the manager live for a moment, so many times.
func (c *customer) killManager(times int, random *rand.Rand) {
	c.Helper()
	for range times {
		// The moment is what is tested; nothing is waited for.
		<-time.After(time.Duration(random.Int64N(int64(longestLife))))
		must(c, env.Manager.Kill())
		must(c, env.Manager.Start(context.Background()))
	}
}

// differing are the ids of what is missing, left over or changed.
func differing(got, want map[string]string) []string {
	others := maps.Clone(want)
	for id, text := range got {
		if declared, there := want[id]; there && declared == text {
			delete(others, id)
			continue
		}
		others[id] = text
	}
	return slices.Sorted(maps.Keys(others))
}

// inventoryKnows complains unless a release lists exactly the objects that are there, and as what they
// were applied last.
func inventoryKnows(ctx context.Context, release *addonsv1alpha1.AddonRelease, cluster string) error {
	objects, err := labelled(ctx, cluster)
	if err != nil {
		return err
	}
	live := map[string]string{}
	for i := range objects {
		live[id(&objects[i])] = string(objects[i].GetUID()) + " " + objects[i].GetLabels()[metav1alpha1.LabelHash]
	}
	listed := map[string]string{}
	for _, entry := range release.Status.Inventory {
		listed[entry.ID] = string(entry.UID) + " v1-" + entry.Hash
	}
	if !maps.Equal(live, listed) {
		return fmt.Errorf("%s lists %v, and there is %v", release.Name, listed, live)
	}
	return nil
}
