package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

const (
	unreachableDriftRow    = "unreachable_drift_p50"
	unreachableConvergeRow = "unreachable_converge"
	unreachableTriesRow    = "unreachable_attempts_per_cluster_30s"
)

const (
	// unreachableAddon holds the objects that are edited beside clusters that cannot be reached.
	unreachableAddon = "unreachable"
	// backedOff is when a cluster that never answered is tried as seldom as ever: its pauses have grown from
	// one second to thirty, and an attempt lasts seconds where it hangs.
	backedOff = time.Minute
	// countAttempts is the shortest pause between two attempts, once backed off.
	countAttempts = 30 * time.Second
	// oneAttempt in that time is what a dead cluster may cost.
	oneAttempt = 1
)

// stages alternate, so that what else the machine does meets both sides, and so does what grows meanwhile. The
// last is followed by the count of attempts.
var stages = []stage{allReachable, someUnreachable, someUnreachable, allReachable, allReachable, someUnreachable}

type stage int

const (
	allReachable stage = iota
	someUnreachable
)

// latencies of the clusters that can be reached, by what is the matter with the others.
type latencies struct {
	edits    [2][]time.Duration
	rollOuts [2][]time.Duration
}

// unreachable measures what is taken back and rolled out in the clusters of the fleet, while 30 % of all
// clusters cannot be reached, beside the same while there are no such clusters. Then it counts how often
// the dead ones are tried.
func (b *bench) unreachable(ctx context.Context) ([]result, error) {
	if err := b.populate(ctx, b.clusters); err != nil {
		return nil, err
	}
	out, err := b.newOutage(unreachableAmong(b.clusters))
	if err != nil {
		return nil, err
	}
	results, err := b.endure(ctx, out)
	return results, errors.Join(err, out.end(ctx), out.close())
}

func (b *bench) endure(ctx context.Context, out *outage) ([]result, error) {
	e, err := b.openEdits(ctx, unreachableAddon, perStage(b.edits)*len(stages))
	if err != nil {
		return nil, err
	}
	defer e.close()
	var seen latencies
	for number, stage := range stages {
		change := out.end
		if stage == someUnreachable {
			change = out.begin
		}
		if err := change(ctx); err != nil {
			return nil, err
		}
		if err := b.measureStage(ctx, number, e, &seen); err != nil {
			return nil, err
		}
	}
	tries, err := b.countAttempts(ctx, out)
	if err != nil {
		return nil, err
	}
	return append(seen.results(), tries), nil
}

// measureStage makes the edits and the rounds of one stage.
func (b *bench) measureStage(ctx context.Context, number int, e *edits, seen *latencies) error {
	stage := stages[number]
	for range perStage(b.edits) {
		took, err := e.next(ctx)
		if err != nil {
			return err
		}
		seen.edits[stage] = append(seen.edits[stage], took)
	}
	for round := range perStage(b.rounds) {
		name := fmt.Sprintf("%s-%d-%d", unreachableAddon, number, round)
		took, err := b.rollOut(ctx, newAddon(name, tenObjects, b.clusters), isReady)
		if err == nil {
			err = b.confirm(ctx, loadTenObjects, name)
		}
		if err != nil {
			return err
		}
		seen.rollOuts[stage] = append(seen.rollOuts[stage], took)
	}
	b.progressf("stage %d, %s: so far an edit stood %.2f ms, an add-on took %.2f s", number, stage,
		milliseconds(median(seen.edits[stage])), median(seen.rollOuts[stage]).Seconds())
	return nil
}

func (s stage) String() string {
	return [...]string{"all clusters reachable", "some clusters unreachable"}[s]
}

func (l latencies) results() []result {
	return []result{
		newResult(unreachableDriftRow, "ms", milliseconds(median(l.edits[someUnreachable])), milliseconds(median(l.edits[allReachable]))),
		newResult(unreachableConvergeRow, "s", median(l.rollOuts[someUnreachable]).Seconds(), median(l.rollOuts[allReachable]).Seconds()),
	}
}

func (b *bench) countAttempts(ctx context.Context, out *outage) (result, error) {
	if err := pause(ctx, time.Until(out.began.Add(backedOff))); err != nil {
		return result{}, err
	}
	made, err := out.attempts(ctx, countAttempts)
	if err != nil {
		return result{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		b.progressf("%s: %d attempts in %s", name, made[name], countAttempts)
	}
	most := percentile(slices.Collect(maps.Values(made)), 100)
	return newResult(unreachableTriesRow, "attempts", float64(most), oneAttempt), nil
}

// perStage is how much of what the other rows do is done in each stage: a quarter, which makes three
// quarters of it on either side.
func perStage(count int) int {
	return int(math.Ceil(float64(count) / 4))
}

// edits are made in all clusters by turns, each of another object.
type edits struct {
	addon    string
	clusters []siteCluster
	made     int
}

// openEdits deploys what so many edits need, and edits once in every cluster, which warms connections and caches.
func (b *bench) openEdits(ctx context.Context, addon string, count int) (*edits, error) {
	objects := 1 + int(math.Ceil(float64(count)/float64(b.clusters)))
	if _, err := b.rollOut(ctx, newAddon(addon, objectsToEdit(objects), b.clusters), isReady); err != nil {
		return nil, err
	}
	if err := b.quiet(ctx); err != nil {
		return nil, err
	}
	e := &edits{addon: addon}
	for i := range b.fleet {
		cluster, err := b.openSiteCluster(ctx, i)
		if err != nil {
			e.close()
			return nil, err
		}
		e.clusters = append(e.clusters, cluster)
	}
	for range e.clusters {
		if _, err := e.next(ctx); err != nil {
			e.close()
			return nil, err
		}
	}
	return e, nil
}

func (e *edits) close() {
	for _, cluster := range e.clusters {
		cluster.observer.stop()
	}
}

// next returns how long one more edit stood.
func (e *edits) next(ctx context.Context) (time.Duration, error) {
	cluster, object := e.made%len(e.clusters), driftObject(e.made/len(e.clusters))
	e.made++
	took, err := e.clusters[cluster].timed(ctx, driftValue, namespaced(e.addon, object))
	if err != nil {
		return 0, fmt.Errorf("edit %s in cluster %d: %w", object, cluster, err)
	}
	return took, nil
}
