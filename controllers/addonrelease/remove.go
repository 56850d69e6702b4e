package addonrelease

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/apis/common"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// remove removes what left the source; foundations last, when all else is gone and done.
func (r *Reconciler) remove(ctx context.Context, o observed, removals []removal, cluster *fleet.Cluster, done *outcome, steps helmSteps) {
	strays, err := steps.strays(ctx)
	if err != nil {
		done.err = err
		return
	}
	var foundation []removal
	for _, one := range append(slices.Clip(removals), strays...) {
		if one.kept {
			done.left = append(done.left, leftover{one.entry, "it is kept on purpose"})
			continue
		}
		if stageOf(one.GroupKind()) == foundations {
			foundation = append(foundation, one)
			continue
		}
		r.removeOne(ctx, o, one, cluster, done)
	}
	if len(done.removing) > 0 || done.err != nil || !steps.after(ctx) {
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
	if owner := r.otherOwner(o, one); owner != "" {
		done.left = append(done.left, leftover{one.entry, "it belongs to " + owner})
		return
	}
	target, err := r.identify(ctx, o, one.entry, cluster)
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
	case vanished, one.untracked:
		// It has not our label, so no watch tells when it is gone.
		done.recheck = true
		done.removing = append(done.removing, one.entry)
	default:
		o.deleted[target.uid] = true
		done.removing = append(done.removing, one.entry)
	}
}

// otherOwner says who took an object over since it was applied last; empty for nobody.
func (r *Reconciler) otherOwner(o observed, one removal) string {
	if one.seen == nil || one.seen.Gone || one.seen.Object == nil {
		return ""
	}
	return o.claimant(one.seen.Object, r.Installation)
}

// claimant says who else an object belongs to; empty for nobody.
func (o observed) claimant(object metav1.Object, installation string) string {
	if release := o.helmRelease(); release != nil && release.Owns(object) {
		return ""
	}
	return objects.ClaimedBy(object, installation)
}

// identify fills in what an entry does not say because the manager died before it learned it. What is
// not ours after all is left alone: the entry stays without a UID.
func (r *Reconciler) identify(ctx context.Context, o observed, e entry, cluster *fleet.Cluster) (entry, error) {
	if !e.intended() {
		return e, nil
	}
	object, err := cluster.Get(ctx, e.Ref)
	if err != nil {
		return e, err
	}
	if object.Labels[common.LabelManagedBy] == r.Installation && o.claimant(object, r.Installation) == "" {
		e.uid = object.UID
	}
	return e, nil
}
