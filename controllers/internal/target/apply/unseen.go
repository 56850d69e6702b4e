package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// SightOfWrites is how long the watches have to show what was applied, before it is told without.
const SightOfWrites = 250 * time.Millisecond

// observeUnseen reads the objects that no watch has shown, though it had the time. Of one that was there before it was
// claimed a watch says nothing, where the apply changed nothing: it was kept when an add-on ended, or orphaned. Kinds
// without a status are as they were applied; what happens to them later makes for an event. What was claimed late is read
// at once, whatever its kind.
func (o *Observation) observeUnseen(ctx context.Context, cluster *fleet.Cluster, unseen []objects.Ref) error {
	hadNoTime := o.Now.Before(o.lastWrite.Add(SightOfWrites))
	unseen = slices.DeleteFunc(unseen, func(ref objects.Ref) bool { return hadNoTime && !cluster.Tracker.IsMissed(ref.Key()) })
	var group errgroup.Group
	group.SetLimit(concurrency)
	for _, ref := range unseen {
		group.Go(func() error {
			resource, err := cluster.Resource(ctx, ref.GroupVersionKind)
			if err != nil || !resource.HasStatus && !cluster.Tracker.IsMissed(ref.Key()) {
				return err
			}
			return cluster.ReadClaimed(ctx, ref)
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("look at what no watch has shown: %w", err)
	}
	for _, ref := range unseen {
		seen, drifted := cluster.Tracker.Look(ref.Key())
		o.States[ref.Key()] = ObjectState{Seen: seen, Drifted: drifted}
	}
	return nil
}

// lastWritten is when an object of the release was applied last; zero if that was by a manager before this one.
func (o Observation) lastWritten(done Result) time.Time {
	last := o.lastWrite
	for _, w := range done.Written {
		if w.Result != nil && w.At.After(last) {
			last = w.At
		}
	}
	return last
}

// LookAtUnseen is when the watches have had the time to show what was applied; zero if they show all of it.
func (o Observation) LookAtUnseen(done Result, tracker *tracker.Tracker, health map[objects.Key]tracker.Health) time.Time {
	at := o.lastWritten(done).Add(SightOfWrites)
	if !at.After(o.Now) {
		return time.Time{} // What was unseen has been read.
	}
	for _, is := range health {
		if is == NotSeenYet {
			return at
		}
	}
	for _, key := range done.Awaiting {
		if seen, _ := tracker.Look(key); seen == nil {
			return at
		}
	}
	return time.Time{}
}
