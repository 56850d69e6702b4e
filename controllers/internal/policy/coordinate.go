package policy

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// coordinate lets a kind decide about all clusters of a policy, before it is asked for each. Where it cannot, what it decided before holds.
func (r *Reconciler[P, T]) coordinate(ctx context.Context, policy P, now time.Time) (time.Time, error) {
	kind, coordinates := r.Kind.(CoordinatingKind[P])
	if !coordinates || !policy.GetDeletionTimestamp().IsZero() {
		return time.Time{}, nil
	}
	came, err := kind.Coordinate(ctx, policy, func(ctx context.Context, set func(P)) error { return r.record(ctx, policy, set) }, now)
	r.views.note(client.ObjectKeyFromObject(policy), func(changed *changes) {
		for _, cluster := range came.Changed {
			changed.clusters = inserted(changed.clusters, cluster)
			changed.targets = inserted(changed.targets, targetKey{cluster, rollout.TargetName(policy.GetName(), cluster)})
		}
	})
	if err != nil {
		err = fmt.Errorf("decide in which order clusters change: %w", err)
	}
	return came.Again, err
}

// record stores what changes in a policy's status, if anything does.
func (r *Reconciler[P, T]) record(ctx context.Context, policy P, set func(P)) error {
	changed := statusOnly(r.Kind, policy)
	set(changed)
	if equality.Semantic.DeepEqual(statusOnly(r.Kind, policy), changed) {
		return nil
	}
	return r.patchStatus(ctx, policy, changed)
}
