package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/bench/floor"
)

const convergeRow = "converge_20"

// concurrencies that the floor tries before it is measured, in objects at a time and cluster.
var concurrencies = []int{2, 4, 8}

// converge measures how long a new add-on of ten objects takes into all clusters: until its last
// target says that it is Ready, which it may say only when all objects are there.
func (b *bench) converge(ctx context.Context) ([]result, error) {
	if err := b.populate(ctx, b.clusters); err != nil {
		return nil, err
	}
	concurrency, err := b.fastestConcurrency(ctx, "try", loadTenObjects)
	if err != nil {
		return nil, err
	}
	var ours, floors []float64
	for round := range b.rounds {
		name := fmt.Sprintf("converge-%d", round)
		took, err := b.rollOut(ctx, newAddon(name, tenObjects, b.clusters), isReady)
		if err == nil {
			err = b.confirm(ctx, loadTenObjects, name)
		}
		if err != nil {
			return nil, err
		}
		bare, err := b.applyBare(ctx, loadTenObjects, "bare-"+name, concurrency)
		if err != nil {
			return nil, err
		}
		b.progressf("round %d: %.2f s, floor %.2f s", round, took.Seconds(), bare.Seconds())
		ours, floors = append(ours, took.Seconds()), append(floors, bare.Seconds())
	}
	return []result{newResult(convergeRow, "s", median(ours), median(floors))}, nil
}

// rollOut creates an add-on and returns how long it took until all of its targets had arrived.
func (b *bench) rollOut(ctx context.Context, addon *addonsv1alpha1.SaaSAddon, arrived arrival) (time.Duration, error) {
	watching, err := b.watchTargets(ctx, addon.Name)
	if err != nil {
		return 0, err
	}
	defer watching.Stop()
	start := time.Now()
	if err := b.env.Admin.Create(ctx, addon); err != nil {
		return 0, fmt.Errorf("create add-on %s: %w", addon.Name, err)
	}
	if err := awaitTargets(ctx, watching, b.clusters, arrived); err != nil {
		return 0, fmt.Errorf("add-on %s: %w", addon.Name, err)
	}
	return time.Since(start), nil
}

// confirm looks whether the objects of an add-on are where its targets say they are, and lets the
// manager come to rest.
func (b *bench) confirm(ctx context.Context, load loader, name string) error {
	err := b.everywhere(func(i int) error {
		objects, err := load(name, b.fleet[i].Name())
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := b.bare[i].Exists(ctx, object); err != nil {
				return fmt.Errorf("add-on %s is said to be in %s, but: %w", name, b.fleet[i].Name(), err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.quiet(ctx)
}

// applyBare applies the same objects without Daytwo.
func (b *bench) applyBare(ctx context.Context, load loader, name string, concurrency int) (time.Duration, error) {
	objects := make([][]floor.Object, len(b.fleet))
	for i, cluster := range b.fleet {
		var err error
		if objects[i], err = load(name, cluster.Name()); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	err := b.everywhere(func(i int) error { return b.bare[i].ApplyAll(ctx, objects[i], concurrency) })
	return time.Since(start), err
}

// fastestConcurrency finds out how the floor is fastest on this machine: the best of two tries each.
func (b *bench) fastestConcurrency(ctx context.Context, prefix string, load loader) (int, error) {
	var fastest int
	var least time.Duration
	for try := range 2 {
		for _, concurrency := range concurrencies {
			took, err := b.applyBare(ctx, load, fmt.Sprintf("%s-%d-%d", prefix, concurrency, try), concurrency)
			if err != nil {
				return 0, err
			}
			b.progressf("floor with %d objects at a time in every cluster: %.2f s", concurrency, took.Seconds())
			if fastest == 0 || took < least {
				fastest, least = concurrency, took
			}
		}
	}
	b.progressf("the floor applies %d objects at a time in every cluster", fastest)
	return fastest, nil
}

// everywhere does something in all clusters at the same time.
func (b *bench) everywhere(work func(i int) error) error {
	var group errgroup.Group
	for i := range b.fleet {
		group.Go(func() error { return work(i) })
	}
	return group.Wait()
}
