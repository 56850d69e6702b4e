package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/e2e/bench/floor"
)

// driftAddon holds the objects that are edited.
const driftAddon = "drift"

// editGap is how long both sides rest after an edit, so that none pays for what follows another:
// Daytwo writes a status and an Event once it has put an object right.
const editGap = 100 * time.Millisecond

// editKind is one way to change a ConfigMap by hand.
type editKind struct {
	name string
	// patch is the edit, a merge patch.
	patch string
	// stands says whether the edit is still to be seen.
	stands func(*corev1.ConfigMap) bool
	// correct makes a bare loop that undoes such edits.
	correct func(*floor.Cluster, context.Context, []floor.Object) (*floor.Corrector, error)
}

var driftValue = editKind{
	name:   "drift_rollback_value",
	patch:  `{"data":{"value":"changed"}}`,
	stands: func(object *corev1.ConfigMap) bool { return object.Data["value"] != "declared" },
	correct: func(c *floor.Cluster, ctx context.Context, objects []floor.Object) (*floor.Corrector, error) {
		return c.CorrectValues(ctx, configMaps, bareLabels(), objects)
	},
}

var driftAdded = editKind{
	name:   "drift_rollback_added",
	patch:  `{"data":{"extra":"added"}}`,
	stands: func(object *corev1.ConfigMap) bool { return object.Data["extra"] != "" },
	correct: func(c *floor.Cluster, ctx context.Context, objects []floor.Object) (*floor.Corrector, error) {
		return c.CorrectAdditions(ctx, configMaps, bareLabels(), objects)
	},
}

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

func (k editKind) p50() string { return k.name + "_p50" }
func (k editKind) p99() string { return k.name + "_p99" }

// drift measures how long edits stand: from the answer to the edit to the event that shows the object
// as it was declared, both seen by somebody who is neither Daytwo nor the floor. The two are edited
// by turns, in the same cluster, and no object more than once in a way, because Daytwo is slow on
// purpose with objects that somebody keeps changing.
func (b *bench) drift(ctx context.Context, kind editKind) ([]result, error) {
	if err := b.deployDrift(ctx); err != nil {
		return nil, err
	}
	site, err := b.openSite(ctx, kind)
	if err != nil {
		return nil, err
	}
	var ours, floors []time.Duration
	for edit := range b.edits + len(b.fleet) {
		own, bare, err := site.edit(ctx, edit%len(b.fleet), edit/len(b.fleet))
		if err != nil {
			return nil, err
		}
		// The first edit in each cluster warms connections and caches, on either side.
		if edit >= len(b.fleet) {
			ours, floors = append(ours, own), append(floors, bare)
		}
	}
	if err := site.close(); err != nil {
		return nil, err
	}
	return []result{
		newResult(kind.p50(), "ms", milliseconds(percentile(ours, 50)), milliseconds(percentile(floors, 50))),
		newResult(kind.p99(), "ms", milliseconds(percentile(ours, 99)), milliseconds(percentile(floors, 99))),
	}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// objectsPerCluster is enough for every edit, and one to warm up with, to have its own object.
func (b *bench) objectsPerCluster() int {
	return int(math.Ceil(float64(b.edits)/float64(b.clusters))) + 1
}

func (b *bench) driftManifests() string { return objectsToEdit(b.objectsPerCluster()) }

func objectsToEdit(count int) string {
	var manifests strings.Builder
	for i := range count {
		fmt.Fprintf(&manifests, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {%s: %q}}\ndata: {value: declared}\n---\n",
			driftObject(i), observedLabel, "true")
	}
	return manifests.String()
}

func driftObject(index int) string { return fmt.Sprintf("settings-%d", index) }

// deployDrift brings both sides' objects into all clusters, unless they are there.
func (b *bench) deployDrift(ctx context.Context) error {
	if b.drifting {
		return nil
	}
	if err := b.populate(ctx, b.clusters); err != nil {
		return err
	}
	watching, err := b.watchTargets(ctx, driftAddon)
	if err != nil {
		return err
	}
	defer watching.Stop()
	if err := b.env.Admin.Create(ctx, newAddon(driftAddon, b.driftManifests(), b.clusters)); err != nil {
		return fmt.Errorf("create add-on %s: %w", driftAddon, err)
	}
	if err := awaitTargets(ctx, watching, b.clusters, isReady); err != nil {
		return err
	}
	if err := b.everywhere(func(i int) error {
		objects, err := b.bareDriftObjects(i)
		if err != nil {
			return err
		}
		return b.bare[i].ApplyAll(ctx, objects, 1)
	}); err != nil {
		return err
	}
	b.drifting = true
	return b.quiet(ctx)
}

// bareDrift is the namespace of the objects that the floor keeps.
const bareDrift = "bare-" + driftAddon

func (b *bench) bareDriftObjects(cluster int) ([]floor.Object, error) {
	return bareObjects(bareDrift, b.driftManifests(), b.fleet[cluster].Name())
}

func namespaced(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}
