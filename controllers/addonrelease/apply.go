package addonrelease

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/apis/common"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// concurrency is how many objects of one release are written at the same time: enough for most add-ons
// to go in one wave, and fewer than the streams that an API server allows one connection.
const concurrency = 16

// outcome is what came of a plan.
type outcome struct {
	written []written
	// gone were removed, and are not there any more.
	gone []entry
	// removing were asked to go, and are still there.
	removing []entry
	// left stay in the cluster because something else needs them.
	left []leftover
	// awaiting are definitions that are not established yet.
	awaiting []objects.Key
	// recheck: what was removed must be looked for again, since no watch will tell.
	recheck bool
	err     error
}

// failed returns the writes that did not succeed.
func (o outcome) failed() []written {
	var failed []written
	for _, w := range o.written {
		if w.result == nil {
			failed = append(failed, w)
		}
	}
	return failed
}

// apply carries a plan out.
func (r *Reconciler) apply(ctx context.Context, o observed, p plan, cluster *fleet.Cluster) outcome {
	var done outcome
	if cluster == nil {
		return done
	}
	if err := r.intend(ctx, o, p); err != nil {
		return outcome{err: err}
	}
	w := &writer{
		cluster: cluster, tracker: cluster.Tracker, controllers: r.Controllers,
		installation: r.Installation, now: r.Clock.Now,
	}
	r.watch(ctx, cluster, p.foundations)
	done.written = w.all(ctx, p.foundations)
	if len(done.failed()) > 0 {
		return done
	}
	if done.awaiting = notEstablished(cluster.Tracker, p.awaited); len(done.awaiting) > 0 {
		return done
	}
	r.watch(ctx, cluster, p.rest)
	done.written = append(done.written, w.all(ctx, p.rest)...)
	if len(done.failed()) > 0 || len(p.conflicts) > 0 {
		return done
	}
	r.remove(ctx, o, p.removals, cluster, &done)
	return done
}

// intend writes new objects into the inventory before they are in the cluster: if the manager dies in
// between, the next one knows where to look.
func (r *Reconciler) intend(ctx context.Context, o observed, p plan) error {
	intended := make([]addonsv1alpha1.InventoryEntry, 0, len(p.foundations)+len(p.rest))
	for _, list := range [][]write{p.foundations, p.rest} {
		for _, w := range list {
			if _, listed := o.inventory[w.Key()]; !listed {
				o.inventory[w.Key()] = entry{Ref: w.Ref}
				intended = append(intended, addonsv1alpha1.InventoryEntry{ID: w.ID()})
			}
		}
	}
	if len(intended) == 0 {
		return nil
	}
	before := o.release.DeepCopy()
	o.release.Status.Inventory = o.inventory.stored()
	o.release.Status.ClusterID = string(o.clusterID)
	if err := r.Client.Status().Patch(ctx, o.release, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("record what is about to be applied: %w", err)
	}
	r.memory.of(client.ObjectKeyFromObject(o.release)).wrote(o.release)
	return nil
}

// watch starts the watches for what is about to be applied, so that they see it. A kind that is not
// served yet is met again by the write.
func (r *Reconciler) watch(ctx context.Context, cluster *fleet.Cluster, writes []write) {
	for _, w := range writes {
		if err := cluster.Watch(ctx, w.GroupVersionKind); err != nil && !meta.IsNoMatchError(err) {
			r.Log.V(1).Info("watch not started", "kind", w.Kind, "reason", err.Error())
		}
	}
}

// all carries writes out, some at a time. One that fails does not stop the others.
func (w *writer) all(ctx context.Context, writes []write) []written {
	results := make([]written, len(writes))
	var group errgroup.Group
	group.SetLimit(concurrency)
	for i := range writes {
		group.Go(func() error {
			results[i] = w.do(ctx, writes[i])
			return nil
		})
	}
	_ = group.Wait() // Each result has its own error.
	return results
}

func notEstablished(tracker *fleet.Tracker, definitions []objects.Key) []objects.Key {
	var waiting []objects.Key
	for _, key := range definitions {
		if seen, _ := tracker.Look(key); seen == nil || seen.Health.Status != status.CurrentStatus {
			waiting = append(waiting, key)
		}
	}
	return waiting
}

// remove removes what left the source; foundations last, when all else is gone.
func (r *Reconciler) remove(ctx context.Context, o observed, removals []removal, cluster *fleet.Cluster, done *outcome) {
	var foundation []removal
	for _, one := range removals {
		if stageOf(one.GroupKind()) == foundations {
			foundation = append(foundation, one)
			continue
		}
		r.removeOne(ctx, o, one, cluster, done)
	}
	if len(done.removing) > 0 || done.err != nil {
		return
	}
	for _, one := range foundation {
		r.removeFoundation(ctx, o, one, cluster, done)
	}
}

// removeOne asks for the deletion of one object, once, and finds out whether it is gone.
func (r *Reconciler) removeOne(ctx context.Context, o observed, one removal, cluster *fleet.Cluster, done *outcome) {
	vanished := one.seen != nil && one.seen.Gone
	if one.sent {
		if vanished {
			done.gone = append(done.gone, one.entry)
		} else {
			done.removing = append(done.removing, one.entry)
		}
		return
	}
	target, err := r.identify(ctx, one.entry, cluster)
	if err == nil && target.intended() {
		done.gone = append(done.gone, one.entry)
		return
	}
	if err == nil {
		err = cluster.Delete(ctx, target.Ref, target.uid)
	}
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), meta.IsNoMatchError(err):
		// Gone, or another object by now.
		done.gone = append(done.gone, one.entry)
	case err != nil:
		done.err = errors.Join(done.err, fmt.Errorf("delete %s: %w", one.Ref, err))
	case vanished:
		// It lost our label, so no watch tells when it is gone.
		done.recheck = true
		done.removing = append(done.removing, one.entry)
	default:
		o.deleted[one.uid] = true
		done.removing = append(done.removing, one.entry)
	}
}

// identify fills in what an entry does not say because the manager died before it learned it. What is
// not ours after all is left alone: the entry stays without a UID.
func (r *Reconciler) identify(ctx context.Context, e entry, cluster *fleet.Cluster) (entry, error) {
	if !e.intended() {
		return e, nil
	}
	object, err := cluster.Get(ctx, e.Ref)
	if err != nil {
		return e, err
	}
	if object.Labels[common.LabelManagedBy] == r.Installation && claimedBy(object, r.Installation) == "" {
		e.uid = object.UID
	}
	return e, nil
}
