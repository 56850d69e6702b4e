package main

import (
	"context"
)

const idleRow = "idle_requests_per_cluster_minute"

// oneProbe a minute and cluster is the least with which a dead cluster is noticed that nobody writes to.
const oneProbe = 1

// idleRequests counts the requests to a fleet in which nothing happens. Watches that are opened anew
// are told apart: the API servers end them, after half an hour or more.
func (b *bench) idleRequests(ctx context.Context) ([]result, error) {
	if err := b.populate(ctx, b.clusters); err != nil {
		return nil, err
	}
	before, err := b.env.Manager.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, b.idle); err != nil {
		return nil, err
	}
	after, err := b.env.Manager.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	perClusterMinute := func(selected func(map[string]string, float64) bool) float64 {
		return (metrics(after).total(requestsMetric, selected) - metrics(before).total(requestsMetric, selected)) /
			float64(b.clusters) / b.idle.Minutes()
	}
	b.progressf("a minute and cluster: %.2f reads, %.2f writes, %.2f watches opened",
		perClusterMinute(isRead), perClusterMinute(isWrite), perClusterMinute(isWatch))
	return []result{newResult(idleRow, "1/min", perClusterMinute(nil)-perClusterMinute(isWatch), oneProbe)}, nil
}
