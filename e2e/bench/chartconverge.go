package main

import (
	"context"
	"fmt"
	"time"
)

const (
	chartConvergeRow   = "chart_converge_20"
	chartVersusHelmRow = "chart_converge_20_vs_helm"
)

// chartRound is how long each of the three took in one round.
type chartRound struct {
	ours, bare, helm time.Duration
}

// chartConverge measures how long a chart takes into all clusters: from the SaaSAddon, over its archive
// in a registry, until the last target says that its objects are applied and its release is on record.
// The floor only applies the objects, which it got rendered. Helm does what helm install does.
func (b *bench) chartConverge(ctx context.Context) ([]result, error) {
	if err := b.prepareCharts(ctx); err != nil {
		return nil, err
	}
	concurrency, err := b.fastestConcurrency(ctx, "chart-try", loadChart)
	if err != nil {
		return nil, err
	}
	helm, err := b.connectHelm(ctx)
	if err != nil {
		return nil, err
	}
	// The first chart opens watches of kinds that no other add-on has.
	if _, err := b.installOurs(ctx, helm, "chart-first"); err != nil {
		return nil, err
	}
	var ours, floors, helms []float64
	for round := range b.rounds {
		took, err := b.chartRound(ctx, helm, concurrency, fmt.Sprintf("chart-%d", round))
		if err != nil {
			return nil, err
		}
		b.progressf("round %d: %.2f s, floor %.2f s, Helm %.2f s", round, took.ours.Seconds(), took.bare.Seconds(), took.helm.Seconds())
		ours, floors, helms = append(ours, took.ours.Seconds()), append(floors, took.bare.Seconds()), append(helms, took.helm.Seconds())
	}
	return []result{
		newResult(chartConvergeRow, "s", median(ours), median(floors)),
		newResult(chartVersusHelmRow, "s", median(ours), median(helms)),
	}, nil
}

// prepareCharts brings up everything that a chart needs.
func (b *bench) prepareCharts(ctx context.Context) error {
	if err := b.populate(ctx, b.clusters); err != nil {
		return err
	}
	return b.openRegistry(ctx)
}

func (b *bench) chartRound(ctx context.Context, helm *helmFleet, concurrency int, name string) (chartRound, error) {
	var took chartRound
	var err error
	if took.ours, err = b.installOurs(ctx, helm, name); err != nil {
		return took, err
	}
	if took.bare, err = b.applyBare(ctx, loadChart, "bare-"+name, concurrency); err != nil {
		return took, err
	}
	took.helm, err = helm.installAll(ctx, "helm-"+name)
	return took, err
}

// installOurs rolls the chart out and looks whether everything is there, the record as well. It tells what
// that cost.
func (b *bench) installOurs(ctx context.Context, helm *helmFleet, name string) (time.Duration, error) {
	before, err := b.env.Manager.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	took, err := b.rollOut(ctx, b.newChartAddon(name), isInstalled)
	if err != nil {
		return 0, err
	}
	if err := b.confirm(ctx, loadChart, name); err != nil {
		return 0, err
	}
	if err := helm.confirm(name); err != nil {
		return 0, err
	}
	after, err := b.env.Manager.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	perTarget := func(metric string, selected func(map[string]string, float64) bool) float64 {
		return (metrics(after).total(metric, selected) - metrics(before).total(metric, selected)) / float64(b.clusters)
	}
	b.progressf("%s, a cluster: %.1f writes, %.1f reads, %.1f watches opened, %.0f ms of CPU beside rendering", name,
		perTarget(requestsMetric, isWrite), perTarget(requestsMetric, isRead), perTarget(requestsMetric, isWatch),
		1000*perTarget("process_cpu_seconds_total", nil))
	return took, nil
}
