package target

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// AcknowledgingKind is a DeclaredKind whose targets tell what was read back from their cluster.
type AcknowledgingKind interface {
	// Acknowledges is whether they do.
	Acknowledges() bool
}

// lookForAcknowledgement is when an object is looked at again that no watch has shown since it was applied: what a watch
// shows of it later is no news, and wakes no target.
const lookForAcknowledgement = time.Second

// acknowledges is whether the targets of the kind tell what was read back.
func (d *Declared[T, S, X]) acknowledges() bool {
	kind, ok := d.DeclaredKind.(AcknowledgingKind)
	return ok && kind.Acknowledges()
}

// acknowledged is what has been read back of a target whose kind tells; nil for nothing, or without a cluster.
func (d *Declared[T, S, X]) acknowledged(o Observation, cluster *fleet.Cluster) *metav1alpha1.Acknowledgement {
	if cluster == nil || !d.acknowledges() {
		return nil
	}
	return o.acknowledgement(cluster.Tracker)
}

// lookAgain is when what was not read back yet is looked at again; zero for never.
func (d *Declared[T, S, X]) lookAgain(o Observation, told Status, cluster *fleet.Cluster) time.Time {
	if cluster == nil || !d.acknowledges() || !o.awaitsAcknowledgement(told) {
		return time.Time{}
	}
	return o.Now.Add(lookForAcknowledgement)
}

// awaitsAcknowledgement is whether what the target has in its cluster was applied, and not read back yet.
func (o Observation) awaitsAcknowledgement(status Status) bool {
	return o.IsSettled(status) && !o.isDeleted() && len(o.Inventory) > 0 &&
		(status.Acknowledged == nil || status.Acknowledged.Generation != o.target.GetGeneration() || status.Acknowledged.Hash != contentHash(o.Inventory))
}

// readBack reads what no watch has shown since it was applied.
func (o Observation) readBack(ctx context.Context, cluster *fleet.Cluster) error {
	for key, e := range o.Inventory {
		if _, current := cluster.Tracker.Current(key); current || e.Unwatched() || e.Intended() {
			continue
		}
		if err := cluster.ReadClaimed(ctx, e.Ref); err != nil {
			return fmt.Errorf("read back %s: %w", e.Ref, err)
		}
	}
	return nil
}

// acknowledgement is what has been read back; nil if some of the objects were not, or not as they were applied. The
// inventory is as it is after the plan was carried out.
func (o Observation) acknowledgement(tracker *tracker.Tracker) *metav1alpha1.Acknowledgement {
	if len(o.Inventory) == 0 {
		return nil
	}
	for key, e := range o.Inventory {
		if e.Unwatched() {
			continue
		}
		seen, current := tracker.Current(key)
		if !current || seen.Gone || seen.Fingerprint != e.Fingerprint {
			return nil
		}
	}
	return &metav1alpha1.Acknowledgement{Generation: o.target.GetGeneration(), Hash: contentHash(o.Inventory)}
}

// contentHash is over the objects of an inventory as they are declared.
func contentHash(inventory apply.Inventory) string {
	digest := sha256.New()
	for _, e := range inventory.Sorted() {
		fmt.Fprintln(digest, e.ID(), e.Hash)
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}
