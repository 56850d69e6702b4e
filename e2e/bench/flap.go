package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/environment"
)

const flapRow = "status_flap_writes_minute"

const (
	// flappingAddon is in one cluster, and consists of one Deployment.
	flappingAddon = "flapping"
	// flapEvery is how often the Deployment changes its health, and flapFor how long that is counted.
	flapEvery, flapFor = 200 * time.Millisecond, 2 * time.Minute
	// flapWarmUp is how often it does so before, slowly, so that both states were told.
	flapWarmUp = 4
	// flapWritesAllowed is how many writes a minute one Deployment may cost the management cluster.
	flapWritesAllowed = 6
)

const flappingDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: flapping}
spec:
  selector: {matchLabels: {app: flapping}}
  template:
    metadata: {labels: {app: flapping}}
    spec: {containers: [{name: flapping, image: "flapping:1"}]}
`

// statusFlap counts the writes that a Deployment costs whose health comes and goes: of its AddonRelease, and of the SaaSAddon.
func (b *bench) statusFlap(ctx context.Context) ([]result, error) {
	if err := b.populate(ctx, b.clusters); err != nil {
		return nil, err
	}
	addon := newAddon(flappingAddon, flappingDeployment, 1)
	addon.Spec.ClusterSelector, addon.Spec.ClusterNames = nil, []string{b.fleet[0].Name()}
	if err := b.env.Admin.Create(ctx, addon); err != nil {
		return nil, fmt.Errorf("create the add-on that flaps: %w", err)
	}
	workload, err := b.env.Workload(b.fleet[0].Name())
	if err != nil {
		return nil, err
	}
	flap := func(i int) error {
		return environment.SetAvailable(ctx, workload, namespaced(flappingAddon, flappingAddon), i%2 == 1)
	}
	if err := b.firstAvailable(ctx, flap); err != nil {
		return nil, err
	}
	for i := range flapWarmUp {
		if err := flap(i); err != nil {
			return nil, err
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	writes, stop, err := b.countWrites(ctx, addon)
	if err != nil {
		return nil, err
	}
	defer stop()
	begun := time.Now()
	flaps := 0
	for ; time.Since(begun) < flapFor; flaps++ {
		if err := flap(flaps); err != nil {
			return nil, err
		}
		if err := pause(ctx, flapEvery); err != nil {
			return nil, err
		}
	}
	made := writes.Load()
	b.progressf("%d changes of health in %s are %d writes", flaps, flapFor, made)
	return []result{newResult(flapRow, "1/min", float64(made)/flapFor.Minutes(), flapWritesAllowed)}, nil
}

// firstAvailable waits until the Deployment is there, makes it available, and waits until its add-on is ready.
func (b *bench) firstAvailable(ctx context.Context, flap func(int) error) error {
	watching, err := b.watchTargets(ctx, flappingAddon)
	if err != nil {
		return err
	}
	defer watching.Stop()
	applied := func(target *addonsv1alpha1.AddonRelease) bool { return target.Status.Revision != "" }
	if err := awaitTargets(ctx, watching, 1, applied); err != nil {
		return err
	}
	if err := flap(1); err != nil {
		return err
	}
	return awaitTargets(ctx, watching, 1, isReady)
}

// countWrites counts how often an add-on and its releases are stored from now on.
func (b *bench) countWrites(ctx context.Context, addon *addonsv1alpha1.SaaSAddon) (writes *atomic.Int64, stop func(), err error) {
	ctx, stop = context.WithCancel(ctx)
	writes = &atomic.Int64{}
	for _, counted := range []struct {
		list  client.ObjectList
		which client.ListOption
	}{
		{&addonsv1alpha1.SaaSAddonList{}, client.MatchingFields{"metadata.name": addon.Name}},
		{&addonsv1alpha1.AddonReleaseList{}, client.MatchingLabels{metav1alpha1.LabelPolicy: addon.Name}},
	} {
		// Of what there is already a watch tells first, unless it begins where a list ends.
		if err := b.env.Admin.List(ctx, counted.list, client.InNamespace(addon.Namespace), counted.which); err != nil {
			stop()
			return nil, nil, err
		}
		watching, err := b.env.Admin.Watch(ctx, counted.list, client.InNamespace(addon.Namespace), counted.which,
			&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: counted.list.GetResourceVersion()}})
		if err != nil {
			stop()
			return nil, nil, err
		}
		go func() {
			for range watching.ResultChan() {
				writes.Add(1)
			}
		}()
	}
	return writes, stop, nil
}
