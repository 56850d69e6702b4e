package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
)

const memoryRow = "memory_per_cluster"

// usage of memory in KiB.
type usage struct {
	// live are the objects on the heap.
	live float64
	// heap are the spans of the heap that hold something: live objects, and the gaps between them.
	heap float64
	// stacks of goroutines.
	stacks float64
}

// total is what the process needs to hold that.
func (u usage) total() float64 { return u.heap + u.stacks }

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
	return []result{newResult(memoryRow, "KiB", own.total(), bare.total())}, nil
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

// managerUsage returns the manager's memory in use without garbage, as it tells of itself. What it allocates
// to tell it comes after it looked.
func (b *bench) managerUsage(ctx context.Context) (usage, error) {
	// Each look collects the garbage before. What a pool holds is let go by the second.
	if _, err := b.heapProfile(ctx); err != nil {
		return usage{}, err
	}
	profile, err := b.heapProfile(ctx)
	if err != nil {
		return usage{}, err
	}
	return parseUsage(profile)
}

func (b *bench) heapProfile(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.env.Manager.ProfilesURL()+"heap?gc=1&debug=1", nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("read the manager's heap profile: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("read the manager's heap profile: %s", response.Status)
	}
	profile, err := io.ReadAll(response.Body)
	return string(profile), err
}

// statistic is a line of a heap profile in text about the whole process, in bytes. Of two numbers the
// first is what is in use.
var statistic = regexp.MustCompile(`(?m)^# (HeapAlloc|HeapInuse|Stack) = (\d+)`)

// parseUsage reads what runtime.MemStats says at the end of a heap profile in text.
func parseUsage(profile string) (usage, error) {
	found := map[string]float64{}
	for _, match := range statistic.FindAllStringSubmatch(profile, -1) {
		bytes, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			return usage{}, err
		}
		found[match[1]] = bytes / 1024
	}
	if len(found) != 3 {
		return usage{}, fmt.Errorf("the manager's heap profile lacks statistics: found %v", found)
	}
	return usage{live: found["HeapAlloc"], heap: found["HeapInuse"], stacks: found["Stack"]}, nil
}
