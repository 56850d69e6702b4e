package policy

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// observation is everything that the other steps know.
type observation[P Policy, T Target] struct {
	policy P
	now    time.Time

	// view of the clusters and targets.
	view *view
	// abandoned are targets that are gone and left something behind.
	abandoned []abandonment

	// content as it is now.
	content Content[P]
	// snapshot of the content; nil where it is not usable.
	snapshot *revision.Snapshot
	// gates of the kind, for all clusters.
	gates []rollout.Gate
	// again is when the kind may decide something else about all clusters; zero for never.
	again time.Time
	// phased is the kind, if its rollouts go in phases.
	phased PhasedKind[P]
	// stall with the selectors or the content; nil if there is none.
	stall *Stall
}

// refuse keeps the first stall, unless a worse one comes.
func (o *observation[P, T]) refuse(stall *Stall) {
	if o.stall == nil || o.stall.Usable && stall != nil {
		o.stall = stall
	}
}

// observe reads what no event tells of a policy: what is there now of its content.
func (r *Reconciler[P, T]) observe(ctx context.Context, policy P, view *view, now time.Time) (*observation[P, T], error) {
	o := &observation[P, T]{policy: policy, view: view, now: now, stall: view.refused}
	o.abandoned = r.abandoned.gone(client.ObjectKeyFromObject(policy), func(name string) types.UID {
		target, found := r.target(ctx, types.NamespacedName{Namespace: policy.GetNamespace(), Name: name})
		if !found {
			return ""
		}
		return target.GetUID()
	})
	if !policy.GetDeletionTimestamp().IsZero() {
		return o, nil
	}
	if gated, ok := r.Kind.(GatedKind[P]); ok {
		o.gates = gated.Gates(policy, now)
	}
	o.phased, _ = r.Kind.(PhasedKind[P])
	err := r.observeContent(ctx, o)
	view.setRevision(currentRevision(*o))
	return o, err
}

// target is one from the cache, which must not be changed.
func (r *Reconciler[P, T]) target(ctx context.Context, key types.NamespacedName) (target T, found bool) {
	target = r.Kind.NewTarget()
	err := r.Client.Get(ctx, key, target, client.UnsafeDisableDeepCopy)
	return target, err == nil
}
