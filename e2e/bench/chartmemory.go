package main

import (
	"context"
	"time"
)

const chartMemoryRow = "chart_manager_memory"

// lookAtMemory is how often the memory of the manager is looked at while charts roll out.
const lookAtMemory = 20 * time.Millisecond

// chartMemory measures the most memory, in MiB, that the manager and its render workers have resident
// while a chart rolls out to all clusters, until the manager has come to rest. The floor is what they had
// before there was any chart.
func (b *bench) chartMemory(ctx context.Context) ([]result, error) {
	if err := b.prepareCharts(ctx); err != nil {
		return nil, err
	}
	before, err := residentMemory(b.env.Manager.PID())
	if err != nil {
		return nil, err
	}
	highest := b.followMemory(ctx)
	_, err = b.rollOut(ctx, b.newChartAddon("chart-memory"), isInstalled)
	if err == nil {
		err = b.quiet(ctx)
	}
	most, lookErr := highest()
	if err != nil {
		return nil, err
	}
	if lookErr != nil {
		return nil, lookErr
	}
	b.progressf("resident before: %s; at most: %s", before, most)
	return []result{newResult(chartMemoryRow, "MiB", most.total(), before.total())}, nil
}

// followMemory looks at the manager's memory again and again. The returned function ends that and tells of
// the look that showed the most.
func (b *bench) followMemory(ctx context.Context) func() (resident, error) {
	ctx, cancel := context.WithCancel(ctx)
	var most resident
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for err == nil {
			var now resident
			if now, err = residentMemory(b.env.Manager.PID()); err == nil && now.total() > most.total() {
				most = now
			}
			if pause(ctx, lookAtMemory) != nil {
				return
			}
		}
	}()
	return func() (resident, error) {
		cancel()
		<-ended
		return most, err
	}
}
