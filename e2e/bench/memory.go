package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/util/wait"
)

const memoryRow = "memory_per_cluster"

// collections of garbage that the least of the samples is taken over.
const collections = 4

// usage of memory in KiB.
type usage struct {
	// live is what the last collection of garbage found in use on the heap.
	live float64
	// heap are the spans of the heap that hold something: live objects, and the gaps between them.
	heap float64
	// stacks of goroutines.
	stacks float64
}

func (u usage) String() string {
	return fmt.Sprintf("%.0f KiB heap (%.0f live), %.0f KiB stacks", u.heap, u.live, u.stacks)
}

// memory measures what one more cluster costs in memory, as the slope of a straight line through
// three sizes of the fleet. The floor is another process, with a client of each cluster and the same
// watches of the same objects, which keeps a fingerprint an object.
func (b *bench) memory(ctx context.Context) ([]result, error) {
	keeper, err := b.startBareProcess(ctx, keepWatches)
	if err != nil {
		return nil, err
	}
	defer keeper.kill()
	var sizes []int
	var ours, floors []usage
	for _, count := range []int{max(1, b.clusters/4), max(2, b.clusters/2), b.clusters} {
		if err := b.populate(ctx, count); err != nil {
			return nil, err
		}
		own, err := b.managerUsage(ctx)
		if err != nil {
			return nil, err
		}
		bare, err := keeper.grow(count)
		if err != nil {
			return nil, err
		}
		b.progressf("%d clusters: %s; floor %s", count, own, bare)
		sizes, ours, floors = append(sizes, count), append(ours, own), append(floors, bare)
	}
	own, bare := perCluster(sizes, ours), perCluster(sizes, floors)
	b.progressf("a cluster: %s; floor %s", own, bare)
	return []result{newResult(memoryRow, "KiB", own.heap+own.stacks, bare.heap+bare.stacks)}, nil
}

// perCluster is how much usage grows with a cluster.
func perCluster(sizes []int, at []usage) usage {
	var live, heap, stacks []point
	for i, size := range sizes {
		live = append(live, point{float64(size), at[i].live})
		heap = append(heap, point{float64(size), at[i].heap})
		stacks = append(stacks, point{float64(size), at[i].stacks})
	}
	return usage{live: slope(live), heap: slope(heap), stacks: slope(stacks)}
}

// managerUsage returns the manager's memory in use when there is the least garbage. Nobody can ask
// another process to collect its garbage, but every look at its metrics makes some: it is looked at
// until it has collected a few times, and the least counts.
func (b *bench) managerUsage(ctx context.Context) (usage, error) {
	var least usage
	var end float64
	err := wait.PollUntilContextTimeout(ctx, time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		now, err := b.plainMetrics(ctx)
		if err != nil {
			return false, err
		}
		if end == 0 {
			end = gcCycles(now) + collections
		}
		sample := usage{
			live:   now.total("go_gc_heap_live_bytes", nil) / 1024,
			heap:   now.total("go_memstats_heap_inuse_bytes", nil) / 1024,
			stacks: now.total("go_memstats_stack_inuse_bytes", nil) / 1024,
		}
		if least == (usage{}) {
			least = sample
		}
		least = usage{min(least.live, sample.live), min(least.heap, sample.heap), min(least.stacks, sample.stacks)}
		return gcCycles(now) >= end, nil
	})
	return least, err
}

// plainClient asks for no compression: a compressor would take a megabyte of the memory that is
// measured.
var plainClient = &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: 10 * time.Second}

func (b *bench) plainMetrics(ctx context.Context) (metrics, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.env.Manager.MetricsURL(), nil)
	if err != nil {
		return nil, err
	}
	response, err := plainClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the manager's metrics: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the manager's metrics: %s", response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	return families, err
}

// gcCycles is how often the manager has collected garbage.
func gcCycles(now metrics) float64 {
	var cycles float64
	for _, metric := range now["go_gc_duration_seconds"].GetMetric() {
		cycles += float64(metric.GetSummary().GetSampleCount())
	}
	return cycles
}
