package target

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/graceful"
	"github.com/daytwo-dev/daytwo/controllers/internal/postponed"
	"github.com/daytwo-dev/daytwo/controllers/internal/statuses"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

// save writes the status, or puts it off if it only mirrors: then it returns when it is due. Nothing is put off where the
// target ends, another try follows at its own pace, or no other reconcile follows.
func (r *Reconciler[T, S, M]) save(
	ctx context.Context, target T, known *Known[T, S, M], writer *statuses.Writer[T, S], c Conclusion[S],
) (later time.Time, err error) {
	stored, now := writer.Stored(), c.Findings.Observation.Now
	if equality.Semantic.DeepEqual(*r.Kind.Status(stored), *c.Status) {
		known.Saved()
		return time.Time{}, nil
	}
	change := throttle.Change{
		Subject: fmt.Sprint(target.GetUID(), target.GetGeneration()), Mirrors: c.Mirrors != nil && c.Mirrors(r.Kind.Status(stored)),
		Before: stored.GetTargetStatus().Conditions, After: c.Told.Conditions,
	}
	change.Follows = !change.Mirrors && c.Follows != nil && c.Follows(r.Kind.Status(stored))
	mayWait := !c.Ends && c.Findings.Failure() == nil && !graceful.IsEnding(ctx)
	if due := known.writes.Due(change, now); mayWait && due.After(now) {
		known.putOff(target, *c.Status)
		return due, nil
	}
	if err := writer.Write(ctx, *c.Status); err != nil {
		return time.Time{}, err
	}
	r.tellTransition(target, target.GetTargetStatus(), c.Told.TargetStatus)
	known.writes.Wrote(change, r.pause, now)
	known.Saved()
	return time.Time{}, nil
}

// mirrors is whether two statuses differ only in what they tell of health, of what others are left to do, and in what
// follows from that.
func (d *Declared[T, S, X]) mirrors(before, after *S) bool {
	return equality.Semantic.DeepEqual(*d.withoutMirrored(before), *d.withoutMirrored(after))
}

// follows is whether two statuses differ only in that, and in steps of what goes on in the cluster.
func (d *Declared[T, S, X]) follows(before, after *S) bool {
	following, ok := d.DeclaredKind.(FollowingKind[S])
	if !ok {
		return false
	}
	rest, next := d.withoutMirrored(before), d.withoutMirrored(after)
	following.DropSteps(rest)
	following.DropSteps(next)
	return equality.Semantic.DeepEqual(*rest, *next)
}

func (d *Declared[T, S, X]) withoutMirrored(status *S) *S {
	rest := new(S)
	d.CopyStatus(rest, status)
	parts := d.Parts(rest)
	parts.Conditions = nil
	// What is taken back is counted. Of what is left as it is, the condition tells.
	parts.Drift.LastDetected, parts.Drift.Tolerated = nil, nil
	return rest
}

// WriteUnsaved writes the statuses that were put off. No reconcile may be under way, and none may follow.
func (r *Reconciler[T, S, M]) WriteUnsaved(ctx context.Context) error {
	return postponed.WriteAll(r.memory.Where((*Known[T, S, M]).isUnsaved), func(key types.NamespacedName) error { return r.writeUnsaved(ctx, key) })
}

func (r *Reconciler[T, S, M]) writeUnsaved(ctx context.Context, key types.NamespacedName) error {
	target := r.Kind.New()
	if err := r.Client.Get(ctx, key, target); err != nil {
		return client.IgnoreNotFound(err)
	}
	target = r.written.Of(key).Of(target)
	status, waits := r.memory.Of(key).Postponed(target)
	if !waits {
		return nil
	}
	if err := r.Writer(target).Write(ctx, *status); err != nil {
		return fmt.Errorf("write the status of %s %s that was put off: %w", r.Kind.Name(), key, err)
	}
	return nil
}
